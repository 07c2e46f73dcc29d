"""The engine of one machine: runs side by side, each a process of its own with one thread. No torch here."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from evade.errors import RunLocked
from evade.runs.folder import RunFolder
from evade.runs.lock import RunLock
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import SweepFolder

HELD_SECONDS = 5.0
"""How often a run that another process works on is tried again."""


class LocalJob:
    """A run in a child process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def poll(self) -> int | None:
        """The exit code; None while it works."""
        return self._process.poll()

    def stop(self) -> None:
        """Send SIGINT: the run saves and stops."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)


class LocalEngine:
    """Starts runs as child processes.

    Args:
        folder: of the sweep; receives what the runs print.
        slots: how many run at a time.
    """

    def __init__(self, folder: SweepFolder, slots: int) -> None:
        self.slots = slots
        self._folder = folder
        self._held: dict[PlannedRun, float] = {}

    def start(self, run: PlannedRun) -> LocalJob | None:
        """Start a run; None if another process is working on it."""
        if self._is_held(run):
            return None
        with self._folder.log(run).open("ab") as log:
            return LocalJob(start_training(run, self._folder.runs_dir, log.fileno()))

    def _is_held(self, run: PlannedRun) -> bool:
        """Whether another process works on the run, perhaps one that an earlier sweep left behind."""
        if time.monotonic() - self._held.get(run, -HELD_SECONDS) < HELD_SECONDS:
            return True
        is_held = _is_locked(RunFolder(self._folder.runs_dir / run.folder))
        if is_held:
            self._held[run] = time.monotonic()
        return is_held


def _is_locked(folder: RunFolder) -> bool:
    if not folder.lock.exists():
        return False
    try:
        with RunLock(folder.lock):
            return False
    except RunLocked:
        return True


def start_training(run: PlannedRun, runs_dir: Path, output: int, *, is_tied: bool = False) -> "subprocess.Popen[bytes]":
    """Start `evade train` for a run, with one thread unless the plan says otherwise.

    It has a session of its own: Ctrl-C in a terminal reaches the sweep alone, which then asks each run once to stop.

    Args:
        run: what to train.
        runs_dir: the folder above all runs.
        output: a file descriptor for what it prints.
        is_tied: whether it must not outlive this process; otherwise it goes on when this process is killed.
    """
    words = run.words(runs_dir)
    if not any(name == "machine.threads" for name, _ in run.changes):
        words += ["--machine.threads", "1"]
    return subprocess.Popen(  # noqa: S603 # our own command
        [sys.executable, "-m", "evade.sweeps.tied" if is_tied else "evade", *words],
        stdin=subprocess.PIPE if is_tied else subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def count_slots(memory_per_run: float, threads: int = 1) -> int:
    """How many runs this machine has room for: by cores, and by memory that is free now.

    Args:
        memory_per_run: bytes.
        threads: of each run.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    by_cores = _quota(cores) // threads
    by_memory = int(available_memory() // memory_per_run)
    return max(1, min(by_cores, by_memory))


def _quota(cores: int) -> int:
    """The cores that a container may use, if it says so."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):
        return cores


def available_memory() -> float:
    """Bytes that new processes can use; infinite where the system does not say."""
    return min(_free_here(), _free_in_container())


def _free_here() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return float("inf")


def _free_in_container() -> float:
    """What a container may still use; cached files that can be dropped count as free."""
    try:
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        lines = Path("/sys/fs/cgroup/memory.stat").read_text().splitlines()
        return float(limit - used + next(int(line.split()[1]) for line in lines if line.startswith("inactive_file ")))
    except (OSError, ValueError, StopIteration):
        return float("inf")
