"""MinAtar games as a true Gymnasium environment: honest types, seeding, actions and pictures.

MinAtar's own Gymnasium class fails Gymnasium's checker, so this one stands directly on `minatar.Environment`.

The minimal action set is the default, as in the original's Atari protocol: actions without an effect only
slow down learning. MinAtar's own defaults are all six actions, 0.1 of them sticky, and random play scores
differently there (Space Invaders about 2.7, here 4.0): compare only numbers made with the same settings.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from evade.envs.extras import import_extra
from evade.envs.pictures import render_frame
from evade.envs.preprocess import Frame, StepResult
from evade.errors import ActionError

LEVELS = 2
"""An object is in a cell or it is not."""


class MinAtarGame(gymnasium.Env[Frame, int]):
    """One MinAtar game of 10x10 cells with one binary channel per kind of object: uint8 `[C, 10, 10]`.

    Action 0 does nothing. Rewards are raw; an episode ends when the game does and is never truncated here.

    Args:
        game: `asterix`, `breakout`, `freeway`, `seaquest` or `space_invaders`.
        sticky_probability: chance that the previous action is repeated instead.
        minimal_actions: offer only the 3 to 6 actions that do something in this game, in MinAtar's order;
            False offers all six (nothing, left, up, right, down, fire).
        difficulty_ramping: whether the game becomes harder with time.
        render_mode: `"rgb_array"` to allow `render`.
        render_scale: pixels per cell and side of a picture.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(
        self,
        game: str,
        *,
        sticky_probability: float = 0.0,
        minimal_actions: bool = True,
        difficulty_ramping: bool = True,
        render_mode: Literal["rgb_array"] | None = None,
        render_scale: int = 16,
    ) -> None:
        minatar = import_extra("minatar", extra="minatar")
        self._game = minatar.Environment(
            game, sticky_action_prob=sticky_probability, difficulty_ramping=difficulty_ramping
        )
        all_actions = range(self._game.num_actions())
        self._actions: list[int] = list(self._game.minimal_action_set() if minimal_actions else all_actions)
        rows, columns, channels = self._game.state_shape()
        self.observation_space = spaces.Box(0, LEVELS - 1, (channels, rows, columns), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))  # type: ignore[assignment] # counts in int64
        self.render_mode = render_mode
        self._render_scale = render_scale

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode; with a seed, everything after it is determined. No options exist."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            # MinAtar takes 32 bits only; Gymnasium's generator turns any seed into them.
            self._game.seed(int(self.np_random.integers(2**32)))
        # MinAtar would carry the last action, which a sticky step repeats, over into the new episode.
        self._game.last_action = 0
        self._game.reset()
        return self._frame(), {}

    def step(self, action: int) -> StepResult:
        """Play one step of the game."""
        if not 0 <= action < len(self._actions):
            raise ActionError(f"action {action} is not one of this game's actions 0 to {len(self._actions) - 1}.")
        reward, terminated = self._game.act(self._actions[action])
        return self._frame(), float(reward), bool(terminated), False, {}

    def render(self) -> Frame | None:
        """The current cells as an RGB picture, `render_scale` pixels per cell; None without a render mode."""
        return render_frame(self._frame(), LEVELS, self._render_scale) if self.render_mode else None

    def _frame(self) -> Frame:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), np.uint8)
