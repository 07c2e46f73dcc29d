"""The phases of Algorithm 1, in order, and the final score after the last iteration."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """One phase of a run."""

    name: str
    """As in checkpoints, journals and messages."""
    description: str
    """What the display says is being done."""
    time_share: float
    """Rough share of an iteration's time, for the bar until all phases have been measured."""


ITERATION: tuple[Phase, ...] = (
    Phase("collect", "play the game", 0.05),
    Phase("fit", "fit the world model", 0.4),
    Phase("draw", "draw from the posterior", 0.0),
    Phase("improve", "improve the policy in dreams", 0.5),
    Phase("evaluate", "evaluate the policy", 0.05),
)
"""The phases of one iteration."""

SCORE = Phase("score", "score the final policy", 0.0)
"""Once, after the last iteration."""

PHASES: dict[str, Phase] = {phase.name: phase for phase in (*ITERATION, SCORE)}
"""All phases by name."""

ITERATION_NAMES: tuple[str, ...] = tuple(phase.name for phase in ITERATION)


def done_share(phase: str, done: float) -> float:
    """How much of an iteration is done when a share `done` of one of its phases is, both from 0 to 1."""
    before = ITERATION[: ITERATION_NAMES.index(phase)]
    return sum(each.time_share for each in before) + PHASES[phase].time_share * done
