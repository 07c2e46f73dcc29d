"""How far a sweep has come, and how long the rest will take, learnt from the runs themselves. No torch here."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evade.sweeps.plan import PlannedRun
from evade.sweeps.standing import Standing, read_standing

LEAST_SHARE = 0.02
"""Below this much measured work, in runs, the estimate made beforehand is used."""


@dataclass
class _Attempt:
    """A run at work since `started`, when `first_share` of it was done."""

    started: float
    first_share: float
    share: float


class Pace:
    """Progress and remaining time of every run and of the whole sweep.

    Args:
        runs_dir: the folder above all runs.
        runs: all planned runs.
        seconds_per_run: the estimate made beforehand, if there is one.
        clock: gives seconds.
    """

    def __init__(
        self,
        runs_dir: Path,
        runs: Iterable[PlannedRun],
        seconds_per_run: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.standings: dict[PlannedRun, Standing] = {run: read_standing(runs_dir, run) for run in runs}
        self._runs_dir, self._clock = runs_dir, clock
        self.estimate = seconds_per_run
        """Seconds of one run, as estimated beforehand."""
        self._attempts: dict[PlannedRun, _Attempt] = {}
        self._seconds, self._shares = 0.0, 0.0

    def start(self, run: PlannedRun) -> None:
        """A run begins, or resumes."""
        share = self._read(run)
        self._attempts[run] = _Attempt(self._clock(), share, share)

    def update(self, run: PlannedRun) -> None:
        """Look at a run again."""
        share = self._read(run)
        if run in self._attempts:
            self._attempts[run].share = share

    def end(self, run: PlannedRun) -> None:
        """A run ended, in whatever way."""
        self.update(run)
        attempt = self._attempts.pop(run, None)
        if attempt is not None:
            self._seconds += self._clock() - attempt.started
            self._shares += max(0.0, attempt.share - attempt.first_share)

    def _read(self, run: PlannedRun) -> float:
        self.standings[run] = read_standing(self._runs_dir, run)
        return self.standings[run].share(run)

    @property
    def seconds_per_run(self) -> float | None:
        """How long one run takes, from its beginning to its end; None while nothing is known."""
        seconds = self._seconds + sum(self._clock() - each.started for each in self._attempts.values())
        shares = self._shares + sum(each.share - each.first_share for each in self._attempts.values())
        return seconds / shares if shares > LEAST_SHARE else self.estimate

    def seconds_left(self, run: PlannedRun) -> float | None:
        """Of one run; None while nothing is known."""
        share, attempt = self.standings[run].share(run), self._attempts.get(run)
        if attempt is not None and attempt.share - attempt.first_share > LEAST_SHARE:
            elapsed = self._clock() - attempt.started
            return elapsed * (1 - share) / (attempt.share - attempt.first_share)
        return None if self.seconds_per_run is None else self.seconds_per_run * (1 - share)

    def total_left(self, unfinished: Sequence[PlannedRun], slots: int) -> float | None:
        """Of all unfinished runs, `slots` at a time; None while nothing is known."""
        each = [self.seconds_left(run) for run in unfinished]
        known = [seconds for seconds in each if seconds is not None]
        if len(known) < len(each) or not known:
            return None
        return max(sum(known) / min(slots, len(known)), max(known))
