"""Settings of the replay: what is held out, and how batches are sampled. No torch here."""

from dataclasses import dataclass, field

from evade.checks import at_least_one, is_probability_below_one, require, require_fields
from evade.kinds import ADDED_LATER


@dataclass(frozen=True)
class ReplayConfig:
    """The real transitions that the world model is fitted to."""

    batch_size: int = 4
    """Transitions per update of the world model. T2T SimPLe: 4."""
    target_frames: int = 1
    """Frames T that one example of a fit predicts one after the other, for world models that are fitted to sequences.
    T2T SimPLe: 1 for the deterministic model, 6 for the stochastic discrete one."""
    eventful_share: float = 0.0
    """Share of each batch sampled from eventful transitions (those with a nonzero reward or an end), if there are any;
    each value of the reward and an end without one are equally likely. T2T SimPLe: 0, uniform sampling. But in MinAtar
    Asterix one transition in a hundred has a reward, and a model fitted on uniform samples never predicts one."""
    distinct_share: float = field(default=0.0, metadata=ADDED_LATER)
    """Share of each batch in which each distinct pair of a last frame and an action is equally likely, however often it
    was seen. T2T SimPLe: 0. Ours: what was seen once at the edge of the known is otherwise hardly ever fitted; where no
    two frames are alike this is uniform sampling (docs/decisions/0011-exploration-in-the-loop.md)."""
    changes_share: float = field(default=0.0, metadata=ADDED_LATER)
    """Most of each batch that rare changes get: one transition for each kind of change that uniform sampling shows less
    than once per batch. A kind is a channel of a grid whose objects become more, or fewer. T2T SimPLe: 0. Ours: a door
    that opened 13 times in 48,000 steps is otherwise never fitted, and never opens in dreams
    (docs/decisions/0020-rare-changes.md)."""
    holdout: float = 1 / 11
    """Share of each collection, taken from its end, that is held out of fitting. T2T SimPLe: 1/11."""
    pads_starts: bool = False
    """Pad the first observations of an episode with copies of its first frame, for fitting and for dreams, as the game
    does. T2T SimPLe: no, they are left out, so that no dream shows an episode's first steps."""

    def __post_init__(self) -> None:
        require_fields(self, "replay", "batch_size target_frames", at_least_one, "must be at least 1")
        rule = "must be at least 0 and below 1"
        names = "eventful_share distinct_share changes_share holdout"
        require_fields(self, "replay", names, is_probability_below_one, rule)
        others = self.eventful_share + self.changes_share
        rule = f"must leave room for replay.eventful_share and replay.changes_share, together {others}, in each batch"
        require(others + self.distinct_share <= 1, "replay.distinct_share", self.distinct_share, rule)
