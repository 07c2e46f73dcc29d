"""How much of a run is done and how long the rest will take, learnt from the phases that were measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evade.config import RunConfig
from evade.vocabulary.phases import ITERATION_NAMES, SCORE

RECENT = 0.5
"""The weight of the newest measurement of a phase; older ones share the rest. Games become longer as the agent
improves, so the newest says most."""

NEEDED = ("collect", "fit", "improve")
"""Phases without whose pace nothing can be said about the rest of a run."""


def count_units(config: RunConfig, iteration: int, phase: str) -> int:
    """The units of work of a phase (steps, updates, batches, games); 0 if it is not part of the iteration."""
    schedule, evaluation = config.schedule, config.evaluation
    is_after_the_last = iteration > schedule.iterations
    if phase == "collect":
        return schedule.real_steps_in(iteration)
    if phase == SCORE.name:
        return evaluation.final_episodes if is_after_the_last else 0
    if is_after_the_last:
        return 0
    if phase == "evaluate":
        return 0 if iteration % evaluation.every else evaluation.episodes
    counts = {"fit": schedule.fit_updates_in, "improve": schedule.dream_batches_in}
    return counts[phase](iteration) if phase in counts else 0


@dataclass
class Pace:
    """Seconds per unit of each phase.

    Args:
        config: whose schedule says how many units there are.
        seconds: per unit, by phase, as far as measured.
    """

    config: RunConfig
    seconds: dict[str, float] = field(default_factory=dict)

    def measure(self, phase: str, units: int, seconds: float) -> None:
        """Learn from a number of units and the seconds they took."""
        if units > 0:
            pace = seconds / units
            self.seconds[phase] = RECENT * pace + (1 - RECENT) * self.seconds.get(phase, pace)

    def learn(self, timing: Iterable[Mapping[str, Any]]) -> None:
        """Learn from the timing of an interrupted run, record by record; others than ours are passed over."""
        for record in timing:
            iteration, phase, seconds = (record.get(name) for name in ("iteration", "phase", "seconds"))
            if isinstance(iteration, int) and isinstance(phase, str) and isinstance(seconds, float | int):
                self.measure(phase, count_units(self.config, iteration, phase), seconds)

    def split(self, iteration: int, phase: str, done: int) -> tuple[float, float] | None:
        """Seconds of work before and after a point of the run; None while too little is known.

        Args:
            iteration: the current one, counted from 1; the one after the last is the final score's.
            phase: the current phase.
            done: its units that are done.
        """
        if not all(name in self.seconds for name in NEEDED):
            return None
        order = (*ITERATION_NAMES, SCORE.name)
        before = after = 0.0
        for each in range(1, self.config.schedule.iterations + 2):
            for name in order:
                units = count_units(self.config, each, name)
                # Before the first evaluation nothing is known about games, which take a small part of the time.
                pace = self.seconds.get(name, self.seconds.get("evaluate", 0.0) if name == SCORE.name else 0.0)
                position = (each, order.index(name))
                here = (iteration, order.index(phase))
                share = done if position == here else units if position < here else 0
                before += pace * min(share, units)
                after += pace * max(units - share, 0)
        return before, after
