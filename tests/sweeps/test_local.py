import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evade.runs.folder import RunFolder
from evade.runs.lock import RunLock
from evade.sweeps import local
from evade.sweeps.carry_out import carry_out
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import save_plan, sweep_folder
from listening import Listener

RUN = PlannedRun("smoke", "minatar/breakout", "evade", 1, (), "smoke/seed-1", 2)


def test_a_tied_process_does_not_outlive_its_parent():
    child = "import time; from evade.sweeps.tied import die_with_parent; die_with_parent(); time.sleep(60)"
    program = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    time.sleep(1.0)
    assert Path(f"/proc/{pid}").exists()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_that_another_process_holds_is_not_started(tmp_path):
    folder = RunFolder(tmp_path / RUN.folder)
    folder.create()
    engine = local.LocalEngine(sweep_folder(tmp_path, "test"), 1)
    with RunLock(folder.lock):
        assert engine.start(RUN) is None


def test_looking_after_runs_costs_less_than_a_twentieth_of_their_time(tmp_path, monkeypatch):
    folder = sweep_folder(tmp_path, "test")
    save_plan(folder, [RUN], None)
    sleep = lambda run, runs_dir, output: subprocess.Popen(["sleep", "3"], stdout=output)  # noqa: E731, S607
    monkeypatch.setattr(local, "start_training", sleep)
    before = time.process_time()
    outcome = carry_out([RUN], local.LocalEngine(folder, 1), Listener(), retries=0)
    assert not outcome.failed
    assert time.process_time() - before < 0.05 * 3
