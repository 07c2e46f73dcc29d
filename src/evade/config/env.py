"""Settings of the games."""

from dataclasses import dataclass

from evade.checks import at_least_one, require, require_fields


@dataclass(frozen=True)
class GameSpec:
    """What the networks must know of a game."""

    channels: int
    """Channels of one frame: 3 for RGB, the number of object types for MinAtar."""
    height: int
    """Rows of a frame, in cells or pixels."""
    width: int
    """Columns of a frame, in cells or pixels."""
    levels: int
    """Values one channel of one cell can take: 256 for pixels, 2 for binary channels."""
    num_actions: int
    """Size of the game's discrete action set; action 0 is the no-op where the game has one."""
    lowest_reward: int = -1
    """Smallest clipped reward. Original: rewards are clipped to {-1, 0, 1}."""
    highest_reward: int = 1
    """Largest clipped reward."""

    def __post_init__(self) -> None:
        require_fields(self, "game", "channels height width num_actions", at_least_one, "it must be at least 1")
        require(
            2 <= self.levels <= 256,
            "game.levels",
            self.levels,
            "a cell is stored in one byte: 2 to 256 values",
        )
        require(
            self.lowest_reward < self.highest_reward,
            "game.lowest_reward",
            self.lowest_reward,
            f"it must be below game.highest_reward = {self.highest_reward}",
        )

    @property
    def num_reward_classes(self) -> int:
        """Number of whole rewards from the lowest to the highest."""
        return self.highest_reward - self.lowest_reward + 1


@dataclass(frozen=True)
class EnvConfig:
    """How a game is played. None leaves a setting to the game's kind (`PROTOCOLS` in `evade.envs.games`)."""

    frame_size: tuple[int, int] | None = None
    """Rows and columns a picture is reduced to. Original: 105 x 80. Channel grids keep their size."""
    grey_levels: int | None = None
    """Greys a picture is reduced to after its size, in one channel. Original: none, it keeps 3 colours x 256 values."""
    frame_skip: int | None = None
    """Frames of the game per step of the agent, which sees the maximum of the last two. Original: 4."""
    max_noops: int | None = None
    """After a reset the agent waits 1 to so many steps with action 0; 0 switches it off. Original: 8."""
    time_limit: int | None = None
    """Steps of the agent, waiting included, after which an episode is truncated."""
    reward_range: tuple[int, int] | None = None
    """Smallest and largest reward the agent learns from; scores are never clipped. Original: (-1, 1)."""
    sticky_probability: float = 0.0
    """Chance that the game repeats the previous action instead. Original, paper: 0; MinAtar's own: 0.1."""
    minimal_actions: bool = True
    """Offer only the actions that do something in the game. Original: yes. MinAtar's own default is all 6."""
    difficulty_ramping: bool = True
    """MinAtar games become harder with time, where they can. MinAtar's own default: yes."""

    def __post_init__(self) -> None:
        if self.frame_size is not None:
            rule = "both must be at least 1"
            require(min(self.frame_size) >= 1, "env.frame_size", self.frame_size, rule)
        if self.grey_levels is not None:
            rule = "a grey is stored in one byte: 2 to 256 of them"
            require(2 <= self.grey_levels <= 256, "env.grey_levels", self.grey_levels, rule)
        for field, least in (("frame_skip", 1), ("max_noops", 0), ("time_limit", 1)):
            value = getattr(self, field)
            require(value is None or value >= least, f"env.{field}", value, f"it must be at least {least}")
        if self.reward_range is not None:
            lowest, highest = self.reward_range
            require(lowest < highest, "env.reward_range", self.reward_range, "give the smaller number first")
        chance = self.sticky_probability
        require(0 <= chance < 1, "env.sticky_probability", chance, "it is a probability below 1")
