"""Settings of the dreams. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from evade.checks import (
    at_least_one,
    finite_not_negative,
    is_probability_below_one,
    require_choice,
    require_fields,
)
from evade.kinds import ADDED_LATER


@dataclass(frozen=True)
class DreamConfig:
    """Rollouts inside the world model."""

    num_envs: int = 16
    """Dreams that step together. T2T SimPLe and paper: 16."""
    horizon: int = 50
    """Steps of a dream; its return is bootstrapped with the value of the last observation. T2T SimPLe and paper: 50."""
    starts_from: Literal["newest", "all"] = "newest"
    """`newest`: start from real frames of the newest collection (T2T SimPLe); `all`: of all collections."""
    starts_by: Literal["episode", "frame", "distinct"] = "episode"
    """`episode`: sample an episode, then one of its frames (T2T SimPLe); `frame`: sample frames uniformly; `distinct`:
    each distinct frame is equally likely, however often it was seen, so that dreams also start at the edge of what is
    known (docs/decisions/0011-exploration-in-the-loop.md)."""
    first_starts_at_reset: bool = True
    """The first dream of each batch starts at the first frame of the newest collection. T2T SimPLe: yes."""
    sticky_probability: float = 0.0
    """Probability that a dream repeats the previous action. For games with sticky actions, where a deterministic world
    model predicts only the more likely outcome. T2T SimPLe: 0."""

    beside_games: int = field(default=0, metadata=ADDED_LATER)
    """Batches of dreams, before each draw, that follow the actions of real games; what they show counts as seen for the
    event prior. Only for models with event layers. Paper and T2T SimPLe: none. Ours on grids: 1, otherwise draws
    disagree about the model's own errors more than about the game (docs/decisions/0027-dreams-beside-games.md)."""

    def __post_init__(self) -> None:
        require_fields(self, "dream", "beside_games", finite_not_negative, "must not be negative")
        require_fields(self, "dream", "num_envs horizon", at_least_one, "must be at least 1")
        require_choice("dream.starts_from", self.starts_from, ("newest", "all"))
        require_choice("dream.starts_by", self.starts_by, ("episode", "frame", "distinct"))
        rule = "must be a probability below 1"
        require_fields(self, "dream", "sticky_probability", is_probability_below_one, rule)
