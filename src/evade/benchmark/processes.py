"""Measurements that need processes of their own: dreams on several cores at once, and peak memory."""

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
from evade.benchmark.sampling import rate_in_common
from evade.benchmark.work import Work, prepare, steps_per_call

WAIT_SECONDS = 600
"""How long one process waits for the others to be ready; compiling takes a minute or two."""


class LoopWorkers:
    """Two processes that stay, so that only the first sample of a case pays for building its networks."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._manager = context.Manager()
        self._pool = ProcessPoolExecutor(2, mp_context=context)

    def measure(self, case: Case, seconds: float) -> float:
        """Dream steps a second of `case.processes` processes together, for about so many seconds."""
        barrier = self._manager.Barrier(case.processes)
        single = replace(case, processes=1)
        futures = [self._pool.submit(stamp_loops, single, seconds, barrier) for _ in range(case.processes)]
        turns_per_second = rate_in_common([future.result() for future in futures])
        return turns_per_second * steps_per_call(case) * case.batch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._manager.shutdown()


def stamp_loops(case: Case, seconds: float, barrier: Barrier) -> list[float]:
    """Loop for so long, beginning together with the others; when that was, and when each turn ended."""
    work = _prepare_once(case)
    barrier.wait(WAIT_SECONDS)
    # This clock is the whole machine's, so stamps of different processes compare.
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
    """Bytes of a process's memory in use, at most."""

    before: int
    """With everything imported and nothing built."""
    peak: int
    """Through building the networks and data, and two calls of the work."""


def measure_memory(case: Case) -> Memory:
    """The most memory a process needs that does nothing but this case."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(watch_memory, case).result()


def watch_memory(case: Case) -> Memory:
    """The same for the process that calls it, which must have done nothing else."""
    torch.set_num_threads(case.threads)
    before = peak_bytes()
    work = prepare(case)
    for _ in range(2):
        work()
    return Memory(before, peak_bytes())


def peak_bytes() -> int:
    """The most memory this process has had in use so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: there, a process that was started by a large one counts that one's memory as its own.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
