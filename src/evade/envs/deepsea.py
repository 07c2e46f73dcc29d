"""DeepSea, the standard test of directed exploration: a treasure that random play finds once in 2^N games.

Osband et al., "Deep Exploration via Randomized Value Functions" (JMLR 2019), as in bsuite's `deep_sea`. One difference:
the original charges 0.01 / N for every move to the right, so that greedy agents learn to go left. World models here
predict integer rewards, so there is no such cost: without a treasure all rewards are 0.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from evade.checks import require
from evade.envs.games import Game, parse_deepsea
from evade.envs.pictures import render_frame
from evade.envs.preprocess import Env, Frame, StepResult, make_sticky
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ResetNeeded

AGENT, TREASURE = range(2)
"""Channels of a frame."""
LEVELS = 2
"""Channels are binary."""


class DeepSea(gymnasium.Env[Frame, int]):
    """N x N cells with the diver and the treasure: uint8 `[2, N, N]`, one object in each channel.

    The diver starts in the top left corner, falls one row at every step and moves one column left or right (not beyond
    the edges). Which of the two actions moves right is fixed at random for each cell. The treasure is in the bottom
    right corner: the action that moves right there gives reward 1. An episode ends after N steps, so only N moves to
    the right in a row find the treasure. The diver of the last frame is in the bottom row.

    Args:
        size: N, 2 to 50.
        puzzle: selects the meaning of the actions, together with `size`. It does not depend on the seed of a reset, so
            all games of a run, and all runs of `deepsea/20`, are the same puzzle.
        render_mode: `"rgb_array"` to enable `render`.
        render_scale: side of a rendered cell in pixels.
    """

    action_names = ("left or right", "the other way")
    channels = ("diver", "treasure")

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        size: int,
        puzzle: int = 0,
        *,
        render_mode: Literal["rgb_array"] | None = None,
        render_scale: int = 16,
    ) -> None:
        require(2 <= size <= 50, "size", size, "must be 2 to 50")
        require(0 <= puzzle < 2**32, "puzzle", puzzle, "must be 0 to 2^32 - 1")
        self.size = size
        # The legacy generator, because numpy guarantees that its stream never changes.
        self.right_action = np.random.RandomState([size, puzzle]).randint(2, size=(size, size))
        """`[N, N]`, the action that moves right in each cell."""
        self.observation_space = spaces.Box(0, LEVELS - 1, (2, size, size), np.uint8)
        self.action_space = spaces.Discrete(2)  # type: ignore[assignment] # counts in int64
        self.render_mode = render_mode
        self._render_scale = render_scale
        self._row = size
        self._column = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode. Nothing is random, so the seed has no effect. There are no options."""
        super().reset(seed=seed, options=options)
        self._row = self._column = 0
        return self._frame(), {}

    def step(self, action: int) -> StepResult:
        """Move left or right and fall one row."""
        if not 0 <= action < 2:
            raise ActionError(f"Invalid action {action}: must be 0 or 1 in this game.")
        if self._row == self.size:
            raise ResetNeeded("The episode has ended: call reset() before the next step().")
        goes_right = action == self.right_action[self._row, self._column]
        found = goes_right and self._row == self._column == self.size - 1
        self._column = min(max(self._column + (1 if goes_right else -1), 0), self.size - 1)
        self._row += 1
        return self._frame(), float(found), self._row == self.size, False, {}

    def render(self) -> Frame | None:
        """The current frame as an RGB image, `render_scale` pixels per cell; None without a render mode."""
        return render_frame(self._frame(), LEVELS, self._render_scale) if self.render_mode else None

    def _frame(self) -> Frame:
        frame = np.zeros((2, self.size, self.size), np.uint8)
        frame[AGENT, min(self._row, self.size - 1), self._column] = 1
        frame[TREASURE, -1, -1] = 1
        return frame


def build_deepsea(game: Game, config: EnvConfig) -> Env:
    """Build `deepsea/N` or `deepsea/N-PUZZLE`."""
    return make_sticky(DeepSea(*parse_deepsea(game.id)), config.sticky_probability)
