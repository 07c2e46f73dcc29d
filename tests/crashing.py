"""Killing real runs, starting them again, and comparing how they end."""

import hashlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from forking import EvadeProcess

GAMES = {"minatar": "minatar/breakout", "atari": "atari/qbert"}
RESUME_ME = 75


def command(runs_dir, game, *extra):
    words = ["train", "smoke", "evade", "--game", GAMES[game], "--seed", "3", "--runs-dir", str(runs_dir)]
    # Much noise, so that a wrong draw shows.
    words += ["--world-model.reward.sigma-init", "1"]
    # A checkpoint after nearly every update, so that a kill always has one to fall back on inside a phase too.
    return [*words, "--machine.save-seconds", "0.01", *extra]


def start(runs_dir, game, failpoint="", extra=()):
    environment = os.environ | {"OMP_WAIT_POLICY": "PASSIVE"} | ({"EVADE_FAILPOINT": failpoint} if failpoint else {})
    return EvadeProcess(command(runs_dir, game, *extra), environment)


def run(runs_dir, game, failpoint="", extra=()):
    """Run to the end or to the failpoint; returns (exit code, output)."""
    process = start(runs_dir, game, failpoint, extra)
    output, _ = process.communicate(timeout=240)
    return process.returncode, output


def killed_at(runs_dir, game, failpoint):
    """Run until the failpoint kills the process; it must be reached."""
    code, output = run(runs_dir, game, failpoint)
    assert code == -signal.SIGKILL, f"{failpoint} was not reached: exit code {code}\n{output}"


def killed_after(runs_dir, game, seconds):
    """Kill the process from outside after some time; returns False if it had ended by itself."""
    process = start(runs_dir, game)
    try:
        process.communicate(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True


def finish(runs_dir, game, extra=()):
    code, output = run(runs_dir, game, extra=extra)
    assert code == 0, output
    return output


def wait_for_phase(runs_dir, phase):
    """Wait until a run that was just started says it is in a phase."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = list(Path(runs_dir).rglob("status.json"))
        if found and json.loads(found[0].read_text()).get("phase") == phase:
            return
        time.sleep(0.05)
    raise AssertionError(f"the run did not get to {phase}")


def folder_of(runs_dir):
    (config,) = Path(runs_dir).rglob("config.json")
    return config.parent


def digest(runs_dir):
    """Everything that must be the same however often a run was interrupted, as hashes by name."""
    folder = folder_of(runs_dir)
    newest = max((folder / "checkpoints").iterdir())
    found = {path.name: path.read_bytes() for path in newest.glob("*.safetensors")}
    found |= {path.name: path.read_bytes() for path in (folder / "replay").iterdir()}
    found |= {name: (folder / name).read_bytes() for name in ("metrics.jsonl", "scores.jsonl")}
    state = json.loads((newest / "state.json").read_text())
    found["state"] = json.dumps(state, sort_keys=True).encode()
    assert {
        "world_model.safetensors",
        "policy.safetensors",
        "draw.safetensors",
        "generators.safetensors",
    } <= found.keys()
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(found.items())}


def chaos(runs_dir, game, reference, kills, seed, longest, report=lambda message: None):
    """Kill a run at random times until it was hit by the given number of kills, starting again whenever it finishes."""
    rng = random.Random(seed)  # noqa: S311
    hits, round_number = 0, 0
    while hits < kills:
        place = Path(runs_dir) / f"round-{round_number}"
        while hits < kills and killed_after(place, game, rng.uniform(0.5, longest)):
            hits += 1
        finish(place, game)
        assert digest(place) == reference, f"round {round_number} after {hits} kills differs"
        round_number += 1
        report(f"{game}: {hits} kills, {round_number} runs finished, all alike")
