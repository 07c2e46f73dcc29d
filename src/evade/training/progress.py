"""What people see of a run while it goes on: phases, progress, numbers."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from evade.config import RunConfig
from evade.training.pace import Pace
from evade.vocabulary.phases import PHASES, SCORE, done_share

SHOW_SECONDS = 0.25
"""How often the progress of the whole run is computed at most: advancing is part of the training loop."""


class Display(Protocol):
    """Where progress is shown (`evade.viewing.display`)."""

    def phase(self, iteration: int, name: str, total: int | None) -> None:
        """Begin a phase, which ends the one before."""
        ...

    def advance(self, done: int) -> None:
        """Say how much of the phase's total is done."""
        ...

    def overall(self, fraction: float, seconds_left: float | None = None) -> None:
        """Say how much of the whole run is done, 0 to 1, and how long the rest will take; None if unknown."""
        ...

    def show(self, values: Mapping[str, float]) -> None:
        """Show the latest metrics by name."""
        ...

    def note(self, message: str) -> None:
        """Show a message once."""
        ...


class Silent:
    """A display that shows nothing."""

    def phase(self, iteration: int, name: str, total: int | None) -> None:
        """Nothing."""

    def advance(self, done: int) -> None:
        """Nothing."""

    def overall(self, fraction: float, seconds_left: float | None = None) -> None:
        """Nothing."""

    def show(self, values: Mapping[str, float]) -> None:
        """Nothing."""

    def note(self, message: str) -> None:
        """Nothing."""


class Progress:
    """How far a run has come, and how long the rest will take.

    Args:
        display: where to show it.
        config: the run's settings; its schedule says what is still to do.
        clock: gives seconds.
    """

    def __init__(self, display: Display, config: RunConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.display, self._num_iterations = display, config.schedule.iterations
        self._pace, self._clock = Pace(config), clock
        self.phase = ""
        self._iteration, self._first, self._done = 0, 0, 0
        self._began = self._shown = clock()
        self._total = 1
        self._fraction = 0.0

    def learn(self, timing: Iterable[Mapping[str, Any]]) -> None:
        """Take over the measured times of the run before it was interrupted."""
        self._pace.learn(timing)

    def begin(self, iteration: int, phase: str, total: int, done: int = 0) -> None:
        """A phase begins, with `total` units of work, of which a resumed one has some behind it."""
        assert phase in PHASES, phase
        if self.phase:
            self._pace.measure(self.phase, self._done - self._first, self._clock() - self._began)
        self.phase, self._iteration, self._first, self._done, self._total = phase, iteration, done, done, total
        self._began = self._clock()
        self.display.phase(min(iteration, self._num_iterations), phase, total)
        self._show()

    def exclude(self, seconds: float) -> None:
        """Something that happens once, such as compiling, took so long: it does not count as the phase's pace."""
        self._began += seconds

    def advance(self, done: int) -> None:
        """Show that `done` of the phase's units are done."""
        self._done = done
        self.display.advance(done)
        if self._clock() - self._shown > SHOW_SECONDS:
            self._show()

    def _show(self) -> None:
        self._shown = self._clock()
        pace, done = self._pace, self._done - self._first
        if done > 0 and self.phase not in pace.seconds:
            # The first time a phase is measured, its pace so far is the best guess.
            pace = Pace(pace.config, {**pace.seconds, self.phase: (self._clock() - self._began) / done})
        found = pace.split(self._iteration, self.phase, self._done)
        if found is None:
            share = done_share(self.phase, self._done / self._total) if self.phase != SCORE.name else 0.0
            self._move((self._iteration - 1 + share) / self._num_iterations, None)
        else:
            before, after = found
            self._move(before / (before + after) if before + after else 1.0, after)

    def _move(self, fraction: float, seconds_left: float | None) -> None:
        # A better estimate never moves the bar back.
        self._fraction = min(max(self._fraction, fraction), 1.0)
        self.display.overall(self._fraction, seconds_left)
