"""MinAtar games as Gymnasium environments that pass Gymnasium's checker.

MinAtar's own Gymnasium class fails the checker (types, seeding), so this one wraps `minatar.Environment` directly.

The minimal action set is the default, as in T2T SimPLe's Atari protocol: actions without an effect slow down learning.
MinAtar's own defaults are all six actions and sticky actions with probability 0.1; random play scores differently there
(Space Invaders about 2.7, here 4.0), so compare only scores obtained with the same settings.
"""

import sys
from types import ModuleType
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from evade.envs.extras import import_extra
from evade.envs.games import Game
from evade.envs.pictures import render_frame
from evade.envs.preprocess import Env, Frame, StepResult
from evade.envs.settings import EnvConfig
from evade.errors import ActionError

LEVELS = 2
"""Channels are binary: an object is in a cell or it is not."""

TIMED = frozenset({"freeway"})
"""Games that nothing but a timer ends, which no frame shows: they are truncated, as by a time limit."""

ACTION_NAMES = {"n": "no-op", "l": "left", "u": "up", "r": "right", "d": "down", "f": "fire"}
"""By the letters of MinAtar's action map."""


class MinAtarGame(gymnasium.Env[Frame, int]):
    """A MinAtar game: 10x10 cells with one binary channel per object type, uint8 `[C, 10, 10]`.

    Action 0 is the no-op. Rewards are raw. Freeway, which only its timer ends, is truncated by it and never terminates.

    Args:
        game: `asterix`, `breakout`, `freeway`, `seaquest` or `space_invaders`.
        sticky_probability: probability of repeating the previous action.
        minimal_actions: offer only the 3 to 6 actions with an effect in this game, in MinAtar's order; False offers all
            six (no-op, left, up, right, down, fire).
        difficulty_ramping: whether the game becomes harder over time.
        render_mode: `"rgb_array"` to enable `render`.
        render_scale: side of a rendered cell in pixels.
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
        self._game = _import_minatar().Environment(
            game, sticky_action_prob=sticky_probability, difficulty_ramping=difficulty_ramping
        )
        all_actions = range(self._game.num_actions())
        self._actions: list[int] = list(self._game.minimal_action_set() if minimal_actions else all_actions)
        letters, numbers = self._game.env.action_map, self._game.env.channels
        self.action_names = tuple(ACTION_NAMES[letters[action]] for action in self._actions)
        self.channels = tuple(name.replace("_", " ") for name in sorted(numbers, key=numbers.get))
        rows, columns, channels = self._game.state_shape()
        self.observation_space = spaces.Box(0, LEVELS - 1, (channels, rows, columns), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))  # type: ignore[assignment] # counts in int64
        self.render_mode = render_mode
        self._render_scale = render_scale
        self._is_timed = game in TIMED

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """Begin an episode; a seed determines everything that follows. There are no options."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            # MinAtar takes 32-bit seeds only; Gymnasium's generator maps any seed to one.
            self._game.seed(int(self.np_random.integers(2**32)))
        # MinAtar would carry over the last action, which a sticky step repeats, to the new episode.
        self._game.last_action = 0
        self._game.reset()
        return self._frame(), {}

    def step(self, action: int) -> StepResult:
        """Play one step of the game."""
        if not 0 <= action < len(self._actions):
            raise ActionError(f"Invalid action {action}: must be 0 to {len(self._actions) - 1} in this game.")
        reward, is_over = self._game.act(self._actions[action])
        return self._frame(), float(reward), bool(is_over) and not self._is_timed, bool(is_over) and self._is_timed, {}

    def render(self) -> Frame | None:
        """The current frame as an RGB image, `render_scale` pixels per cell; None without a render mode."""
        return render_frame(self._frame(), LEVELS, self._render_scale) if self.render_mode else None

    def _frame(self) -> Frame:
        return np.ascontiguousarray(self._game.state().transpose(2, 0, 1), np.uint8)


def _import_minatar() -> ModuleType:
    """Import MinAtar without seaborn and pyplot, which only its own window needs: 2 seconds at every start.

    MinAtar's `display_state` therefore does not work in a process that has used this module; `render` does.
    """
    if "minatar" in sys.modules:
        return import_extra("minatar", extra="minatar")
    plotting = ModuleType("matplotlib")
    vars(plotting).update(pyplot=None, colors=None)
    absent = {"matplotlib": plotting, "seaborn": ModuleType("seaborn")}
    present = {name: sys.modules[name] for name in absent if name in sys.modules}
    sys.modules.update(absent)
    try:
        return import_extra("minatar", extra="minatar")
    finally:
        for name in absent:
            del sys.modules[name]
        sys.modules.update(present)


def build_minatar(game: Game, config: EnvConfig) -> Env:
    """Build a MinAtar game with the settings it has of its own."""
    return MinAtarGame(
        game.id,
        sticky_probability=config.sticky_probability,
        minimal_actions=config.minimal_actions,
        difficulty_ramping=config.difficulty_ramping,
    )
