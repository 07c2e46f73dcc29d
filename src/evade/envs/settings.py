"""Settings of the games. No torch here."""

from dataclasses import dataclass, field

from evade.checks import at_least_one, finite_positive, is_probability_below_one, require, require_fields
from evade.kinds import ADDED_LATER


@dataclass(frozen=True)
class EnvConfig:
    """How a game is played. None means the default of the game's family (`PROTOCOLS` in `evade.envs.games`)."""

    num_frames: int = 4
    """Frames stacked in one observation, oldest first: the input of world model and policy. T2T SimPLe: 4."""
    frame_size: tuple[int, int] | None = None
    """Rows and columns an image is resized to. T2T SimPLe: 105 x 80. Grids keep their size."""
    grey_levels: int | None = None
    """Greys an image is quantised to after resizing, in one channel. T2T SimPLe: None, 3 colours x 256 values."""
    binary_channels: bool = field(default=False, metadata=ADDED_LATER)
    """Show a grid of a few values, such as 0 floor, 1 player and 2 goal, as one binary channel for each value from 1.
    Images, and grids that are binary already, stay as they are. Ours: the presets on small grids, whose world models
    know objects by their channels. T2T SimPLe has images only."""
    frame_skip: int | None = None
    """Game frames per agent step; the agent sees the maximum of the last two. T2T SimPLe: 4."""
    max_noops: int | None = None
    """Each episode starts with 1 to N no-ops (action 0), the number sampled; 0 switches them off. T2T SimPLe: 8."""
    time_limit: int | None = None
    """Agent steps, no-ops included, after which an episode is truncated. T2T SimPLe: 100,000."""
    reward_range: tuple[int, int] | None = None
    """Rewards are clipped to this range for learning; scores are never clipped. T2T SimPLe: (-1, 1)."""
    reward_scale: float = field(default=1.0, metadata=ADDED_LATER)
    """Rewards are multiplied by this before they are rounded and clipped for learning; scores are not. T2T SimPLe: 1.
    A game whose rewards are fractions, such as 0.1, needs a larger one, or the agent sees no reward."""
    sticky_probability: float = 0.0
    """Probability that the game repeats the previous action instead. T2T SimPLe, paper: 0; MinAtar's own: 0.1."""
    minimal_actions: bool = True
    """Offer only the actions that have an effect in the game. T2T SimPLe: yes. MinAtar's own default is all 6."""
    difficulty_ramping: bool = True
    """MinAtar games that can become harder over time do. MinAtar's own default: yes."""

    def __post_init__(self) -> None:
        require_fields(self, "env", "num_frames", at_least_one, "must be at least 1")
        if self.frame_size is not None:
            rule = "must have at least 1 row and 1 column"
            require(min(self.frame_size) >= 1, "env.frame_size", self.frame_size, rule)
        if self.grey_levels is not None:
            rule = "must be 2 to 256, because a grey value is stored in one byte"
            require(2 <= self.grey_levels <= 256, "env.grey_levels", self.grey_levels, rule)
        for name, least in (("frame_skip", 1), ("max_noops", 0), ("time_limit", 1)):
            value = getattr(self, name)
            require(value is None or value >= least, f"env.{name}", value, f"must be at least {least}")
        if self.reward_range is not None:
            lowest, highest = self.reward_range
            require(lowest < highest, "env.reward_range", self.reward_range, "must be (lowest, highest)")
        require_fields(self, "env", "reward_scale", finite_positive, "must be finite and positive")
        rule = "must be a probability below 1"
        require_fields(self, "env", "sticky_probability", is_probability_below_one, rule)
