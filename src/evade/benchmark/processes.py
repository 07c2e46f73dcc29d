"""Measurements in separate processes: the loop on several cores at once, and peak memory."""

import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Barrier
from types import TracebackType
from typing import Self

import torch

from evade.benchmark.cases import Case
from evade.benchmark.sampling import compute_joint_rate
from evade.benchmark.work import Work, prepare, steps_per_call

WAIT_SECONDS = 600
"""How long a process waits for the others to be ready; compiling takes a minute or two."""


class LoopWorkers:
    """A pool of two processes that keep their networks, so that only the first sample of a case has to build them."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._manager = context.Manager()
        self._pool = ProcessPoolExecutor(2, mp_context=context)

    def measure(self, case: Case, seconds: float) -> float:
        """Dream steps per second of `case.processes` processes together, measured for about `seconds`."""
        barrier = self._manager.Barrier(case.processes)
        single = replace(case, processes=1)
        futures = [self._pool.submit(stamp_loops, single, seconds, barrier) for _ in range(case.processes)]
        loops_per_second = compute_joint_rate([future.result() for future in futures])
        return loops_per_second * steps_per_call(case) * case.batch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._manager.shutdown()


def stamp_loops(case: Case, seconds: float, barrier: Barrier) -> list[float]:
    """Loop for `seconds`, starting together with the other processes.

    Returns:
        The time of the start and the end time of each loop.
    """
    work = _prepare_once(case)
    barrier.wait(WAIT_SECONDS)
    # This clock is machine-wide, so that times of different processes can be compared.
    stamps = [time.monotonic()]
    while len(stamps) == 1 or stamps[-1] - stamps[0] < seconds:
        work()
        stamps.append(time.monotonic())
    return stamps


@lru_cache
def _prepare_once(case: Case) -> Work:
    torch.set_num_threads(case.threads)
    work = prepare(case)
    work()
    return work


@dataclass(frozen=True)
class Memory:
    """Peak memory of a process in bytes."""

    before: int
    """After all imports, before anything is built."""
    peak: int
    """After building the networks and data and two calls of the task."""


def measure_memory(case: Case) -> Memory:
    """The peak memory of a process that runs only this case."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(watch_memory, case).result()


def watch_memory(case: Case) -> Memory:
    """The same for the calling process, which must not have done anything else."""
    torch.set_num_threads(case.threads)
    before = peak_bytes()
    work = prepare(case)
    for _ in range(2):
        work()
    return Memory(before, peak_bytes())


def peak_bytes() -> int:
    """Peak memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage, whose peak includes the memory of the parent process at the fork.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
