"""What people see of a run while it goes on: phases, progress, numbers."""

from collections.abc import Mapping
from typing import Protocol

from evade.vocabulary.phases import PHASES, SCORE, done_share


class Display(Protocol):
    """Where progress is shown (`evade.viewing.display`)."""

    def phase(self, iteration: int, name: str, total: int | None) -> None:
        """Begin a phase, which ends the one before."""
        ...

    def advance(self, done: int) -> None:
        """Say how much of the phase's total is done."""
        ...

    def overall(self, fraction: float) -> None:
        """Say how much of the whole run is done, 0 to 1."""
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

    def overall(self, fraction: float) -> None:
        """Nothing."""

    def show(self, values: Mapping[str, float]) -> None:
        """Nothing."""

    def note(self, message: str) -> None:
        """Nothing."""


class Progress:
    """How far a run has come.

    Args:
        display: where to show it.
        num_iterations: of the whole run.
    """

    def __init__(self, display: Display, num_iterations: int) -> None:
        self.display, self._num_iterations = display, num_iterations
        self.phase = ""
        self._iteration, self._total = 0, 1

    def begin(self, iteration: int, phase: str, total: int) -> None:
        """A phase begins, with `total` units of work."""
        assert phase in PHASES, phase
        self.phase, self._iteration, self._total = phase, iteration, total
        self.display.phase(min(iteration, self._num_iterations), phase, total)

    def advance(self, done: int) -> None:
        """Show that `done` of the phase's units are done."""
        self.display.advance(done)
        share = 0.0 if self.phase == SCORE.name else done_share(self.phase, done / self._total)
        self.display.overall(min((self._iteration - 1 + share) / self._num_iterations, 1.0))
