"""Carrying a plan out: start runs while there is room, retry what fails, stop all when asked. No torch here."""

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from evade.sweeps.plan import PlannedRun

FINISHED, DIVERGED = 0, 3
"""Exit codes of `evade train`. A diverged run would diverge again: it is not retried."""
LOST = -1000
"""In place of an exit code: the machine or its hold on the run was lost, which is no fault of the run."""
MOST_LOSSES = 20
"""How often a run is started again after a lost machine. A run that takes its machines down must end some time."""

POLL_SECONDS = 0.2


class Job(Protocol):
    """One run at work."""

    def poll(self) -> int | None:
        """The exit code, or `LOST`; None while it works."""
        ...

    def stop(self) -> None:
        """Ask it to save and stop; a second request ends it at once."""
        ...


class Engine(Protocol):
    """Where runs are carried out."""

    @property
    def slots(self) -> int:
        """How many runs have room at a time; may change."""
        ...

    def start(self, run: PlannedRun) -> Job | None:
        """Start a run; None if another process is working on it, so that it must be tried later."""
        ...


class Audience(Protocol):
    """Receives the events of a sweep (`evade.sweeps.show`)."""

    def started(self, run: PlannedRun, attempt: int) -> None:
        """A run was started."""
        ...

    def ended(self, run: PlannedRun, code: int, is_retried: bool) -> None:
        """A run ended with an exit code."""
        ...

    def refresh(self, active: Sequence[PlannedRun], num_waiting: int, is_stopping: bool) -> None:
        """Nothing special happened; called several times a second."""
        ...


@dataclass
class Outcome:
    """What became of a plan."""

    failed: dict[PlannedRun, int] = field(default_factory=dict)
    """Runs that were given up, with their last exit code."""
    is_stopped: bool = False
    """Whether it was asked to stop before all was done."""


@dataclass
class _Work:
    """Everything under way."""

    waiting: deque[PlannedRun]
    active: dict[PlannedRun, Job] = field(default_factory=dict)
    attempts: Counter[PlannedRun] = field(default_factory=Counter)
    losses: Counter[PlannedRun] = field(default_factory=Counter)


def carry_out(runs: Sequence[PlannedRun], engine: Engine, audience: Audience, retries: int) -> Outcome:
    """Run all to their ends; returns when nothing is left to do, or when everything stopped after a signal.

    Args:
        runs: those that are not done yet.
        engine: where.
        audience: receives the events.
        retries: how often a run is started again after it failed.
    """
    work, outcome = _Work(deque(runs)), Outcome()
    with _stop_requests() as requests:
        while work.active or (work.waiting and not outcome.is_stopped):
            if requests:
                requests.clear()
                outcome.is_stopped = True
                for job in work.active.values():
                    job.stop()
            if not outcome.is_stopped:
                _start_what_fits(work, engine, audience)
            _collect_ended(work, outcome, audience, retries)
            audience.refresh(tuple(work.active), len(work.waiting), outcome.is_stopped)
            time.sleep(POLL_SECONDS)
    return outcome


def _collect_ended(work: _Work, outcome: Outcome, audience: Audience, retries: int) -> None:
    for run, job in list(work.active.items()):
        code = job.poll()
        if code is None:
            continue
        del work.active[run]
        is_retried = not outcome.is_stopped and _should_retry(work, run, code, retries)
        if is_retried:
            work.waiting.append(run)
        elif code != FINISHED and not outcome.is_stopped:
            outcome.failed[run] = code
        audience.ended(run, code, is_retried)


def _start_what_fits(work: _Work, engine: Engine, audience: Audience) -> None:
    for _ in range(len(work.waiting)):
        if len(work.active) >= engine.slots:
            return
        run = work.waiting.popleft()
        job = engine.start(run)
        if job is None:
            work.waiting.append(run)
            continue
        work.active[run] = job
        audience.started(run, work.attempts[run] + 1)


def _should_retry(work: _Work, run: PlannedRun, code: int, retries: int) -> bool:
    if code in (FINISHED, DIVERGED):
        return False
    if code == LOST:
        work.losses[run] += 1
        return work.losses[run] <= MOST_LOSSES
    work.attempts[run] += 1
    return work.attempts[run] <= retries


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """The polite signals that come while the block runs; nothing is done about them here."""
    requests: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield requests
        return

    def note(number: int, frame: FrameType | None) -> None:
        requests.append(number)

    former = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield requests
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
