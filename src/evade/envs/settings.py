"""Settings of the games. No torch here."""

from dataclasses import dataclass

from evade.checks import at_least_one, require, require_fields


@dataclass(frozen=True)
class EnvConfig:
    """How a game is played. None leaves a setting to the game's kind (`PROTOCOLS` in `evade.envs.games`)."""

    num_frames: int = 4
    """Frames stacked in one observation, oldest first: what world model and policy see. T2T SimPLe: 4."""
    frame_size: tuple[int, int] | None = None
    """Rows and columns a picture is reduced to. T2T SimPLe: 105 x 80. Channel grids keep their size."""
    grey_levels: int | None = None
    """Greys a picture is reduced to after its size, in one channel. T2T SimPLe: none, it keeps 3 colours x 256 values."""
    frame_skip: int | None = None
    """Frames of the game per step of the agent, which sees the maximum of the last two. T2T SimPLe: 4."""
    max_noops: int | None = None
    """After a reset the agent waits 1 to N steps with action 0; 0 switches it off. T2T SimPLe: 8."""
    time_limit: int | None = None
    """Steps of the agent, no-ops included, after which an episode is truncated."""
    reward_range: tuple[int, int] | None = None
    """Smallest and largest reward the agent learns from; scores are never clipped. T2T SimPLe: (-1, 1)."""
    sticky_probability: float = 0.0
    """Chance that the game repeats the previous action instead. T2T SimPLe, paper: 0; MinAtar's own: 0.1."""
    minimal_actions: bool = True
    """Offer only the actions that do something in the game. T2T SimPLe: yes. MinAtar's own default is all 6."""
    difficulty_ramping: bool = True
    """MinAtar games become harder with time, where they can. MinAtar's own default: yes."""

    def __post_init__(self) -> None:
        require_fields(self, "env", "num_frames", at_least_one, "must be at least 1")
        if self.frame_size is not None:
            rule = "rows and columns must be at least 1"
            require(min(self.frame_size) >= 1, "env.frame_size", self.frame_size, rule)
        if self.grey_levels is not None:
            rule = "must be 2 to 256, because a grey is stored in one byte"
            require(2 <= self.grey_levels <= 256, "env.grey_levels", self.grey_levels, rule)
        for field, least in (("frame_skip", 1), ("max_noops", 0), ("time_limit", 1)):
            value = getattr(self, field)
            require(value is None or value >= least, f"env.{field}", value, f"must be at least {least}")
        if self.reward_range is not None:
            lowest, highest = self.reward_range
            require(lowest < highest, "env.reward_range", self.reward_range, "must name the smaller number first")
        chance = self.sticky_probability
        require(0 <= chance < 1, "env.sticky_probability", chance, "must be a probability below 1")
