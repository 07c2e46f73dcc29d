"""What networks, replay and dreams must know of a game. No torch here."""

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
    """Smallest clipped reward. T2T SimPLe: rewards are clipped to {-1, 0, 1}."""
    highest_reward: int = 1
    """Largest clipped reward."""

    def __post_init__(self) -> None:
        require_fields(self, "game", "channels height width num_actions", at_least_one, "must be at least 1")
        require(
            self.num_actions <= 256,
            "game.num_actions",
            self.num_actions,
            "must be at most 256, because an action is stored in one byte",
        )
        require(
            2 <= self.levels <= 256,
            "game.levels",
            self.levels,
            "must be 2 to 256, because a cell is stored in one byte",
        )
        require(
            self.lowest_reward < self.highest_reward,
            "game.lowest_reward",
            self.lowest_reward,
            f"must be below game.highest_reward = {self.highest_reward}",
        )

    @property
    def num_reward_classes(self) -> int:
        """Number of whole rewards from the lowest to the highest."""
        return self.highest_reward - self.lowest_reward + 1
