"""A real Ray cluster of two nodes on this machine, one of which is killed while it trains."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

import crashing
from forking import EvadeProcess

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

HEAD, NODES = "127.0.0.2", ("127.0.0.3", "127.0.0.4")
LONGER = ("schedule.first_fit_updates", "2400")
"""Long enough to be stopped and killed in the middle, also on a fast machine with slow processes around it."""


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores and two nodes with one each, on loopback addresses as if they were machines."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    shared = {"object_store_memory": 80_000_000, "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "node_ip_address": HEAD, **shared})
    try:
        started.nodes = [started.add_node(num_cpus=1, node_ip_address=address, **shared) for address in NODES]
        yield started
    finally:
        started.shutdown()


def start_sweep(runs_dir, address, *words):
    plan = ["--preset", "smoke", "--games", "minatar/breakout", "--variants", "evade", "--seeds", "3-4"]
    plan += ["--set", "world_model.reward.sigma_init=1", "--set", "machine.save_seconds=0.2", "--set", "=".join(LONGER)]
    engine = ["--engine", "ray", "--address", address, "--lease", "6", "--retries", "0", "--no-measure", "--no-report"]
    words = ["sweep", *plan, *engine, "--runs-dir", str(runs_dir), *words]
    return EvadeProcess(words, os.environ | {"OMP_WAIT_POLICY": "PASSIVE"})


def alone(runs_dir, seed):
    """The same run without a sweep."""
    words = crashing.command(runs_dir, "minatar", "--seed", seed, "--schedule.first-fit-updates", LONGER[1])
    words[words.index("--machine.save-seconds") + 1] = "60"
    process = EvadeProcess(words, dict(os.environ))
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return crashing.digest(runs_dir)


def folders(runs_dir):
    return [path.parent for path in sorted(Path(runs_dir).rglob("config.json"))]


def status_of(folder):
    path = folder / "status.json"
    return json.loads(path.read_text()) if path.exists() else {}


def wait_for_fit(sweep, runs_dir):
    """The folder of the first run that is being fitted."""
    deadline = time.monotonic() + 200
    while True:
        for folder in folders(runs_dir):
            status = status_of(folder)
            if (status.get("status"), status.get("phase")) == ("running", "fit"):
                return folder
        is_going_on = sweep.returncode is None and time.monotonic() < deadline
        assert is_going_on, sweep.communicate(timeout=1)[0]
        time.sleep(0.05)


def owner_of(folder):
    """The process that holds the lease of a run."""
    return json.loads(max((folder / "lease").iterdir()).read_text())["pid"]


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow_first
@pytest.mark.timeout(900)
def test_a_stopped_sweep_goes_on_survives_a_killed_node_and_every_run_ends_as_it_does_alone(cluster, tmp_path):
    runs_dir = tmp_path / "sweep"
    sweep = start_sweep(runs_dir, cluster.address)
    wait_for_fit(sweep, runs_dir)
    sweep.send_signal(signal.SIGINT)
    output, _ = sweep.communicate(timeout=200)
    assert sweep.returncode == crashing.RESUME_ME, output
    assert "To go on:  evade sweep --preset smoke" in output
    assert {status_of(folder)["status"] for folder in folders(runs_dir)} == {"stopped"}

    sweep = start_sweep(runs_dir, cluster.address)
    folder = wait_for_fit(sweep, runs_dir)
    owner = owner_of(folder)
    raylet = parent_of(owner)
    assert raylet in {node.all_processes["raylet"][0].process.pid for node in cluster.nodes}
    os.kill(raylet, signal.SIGKILL)
    output, _ = sweep.communicate(timeout=400)
    assert sweep.returncode == 0, output
    assert f"seed {folder.name[-1]}: its machine was lost" in output
    assert "2 of 2 runs finished" in output
    assert owner_of(folder) != owner
    for seed, each in zip("34", folders(runs_dir), strict=True):
        assert crashing.digest(each) == alone(tmp_path / seed, seed)
