"""Settings of the replay: what is kept for fitting, and how batches are sampled. No torch here."""

from dataclasses import dataclass

from evade.checks import at_least_one, is_probability_below_one, require_fields


@dataclass(frozen=True)
class ReplayConfig:
    """Which real transitions the world model is fitted to."""

    batch_size: int = 4
    """Transitions per update of the world model. T2T SimPLe: 4."""
    eventful_share: float = 0.0
    """Share of each batch that is sampled from transitions with a reward or an end, as soon as there are any.
    T2T SimPLe: 0, all are sampled alike; but one in a hundred of Asterix's transitions has a reward, and a model fitted
    on uniform samples never predicts one."""
    holdout: float = 1 / 11
    """Share of each collection, its end, that the world model is not fitted to. T2T SimPLe: 1/11."""
    pads_starts: bool = False
    """Observations at the start of an episode are filled up with its first frame, for fitting and for dreams, as they
    are in the game. T2T SimPLe: no, they are left out, so that no dream shows an episode's first steps."""

    def __post_init__(self) -> None:
        require_fields(self, "replay", "batch_size", at_least_one, "must be at least 1")
        rule = "must be a share below 1"
        require_fields(self, "replay", "eventful_share holdout", is_probability_below_one, rule)
