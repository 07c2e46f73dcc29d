"""One game as a Gymnasium environment: what `gymnasium.make("evade/MinAtar-Breakout-v0")` returns."""

from dataclasses import fields
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from evade.envs.make import build_game
from evade.envs.pictures import render_frame
from evade.envs.settings import EnvConfig
from evade.errors import ConfigError, ResetNeeded
from evade.game_spec import GameSpec

Observation = NDArray[np.uint8]
"""uint8 `[K, C, H, W]`, oldest frame first."""

RENDER_HEIGHT = 320
"""Pixels: about how high a rendered frame is."""


class StackedEnv(gymnasium.Env[Observation, np.int64]):
    """Base of single games and single dreams: the same spaces and the same rendering, so that agents fit both.

    Args:
        game: the frame shape, values and number of actions.
        num_frames: K, the frames in an observation.
        render_mode: `"rgb_array"` to enable `render`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(self, game: GameSpec, num_frames: int, render_mode: Literal["rgb_array"] | None) -> None:
        self.game = game
        shape = (num_frames, game.channels, game.height, game.width)
        self.observation_space = spaces.Box(0, game.levels - 1, shape, np.uint8)
        self.action_space = spaces.Discrete(game.num_actions)
        self.render_mode = render_mode
        self._observation: Observation | None = None

    def render(self) -> NDArray[np.uint8] | None:
        """The last frame as an RGB image `[H * s, W * s, 3]`, about 320 pixels high; None without a render mode."""
        if self.render_mode is None:
            return None
        scale = max(1, round(RENDER_HEIGHT / self.game.height))
        return render_frame(self._current()[-1], self.game.levels, scale)

    def _current(self) -> Observation:
        if self._observation is None:
            raise ResetNeeded("The game has not begun: call reset() before step() and render().")
        return self._observation


class GameEnv(StackedEnv):
    """One game by this package's protocol, with raw rewards: uint8 `[K, C, H, W]`, discrete actions.

    At a reset the first frame fills the whole stack. Episodes end as in training: terminated by the game, truncated by
    the protocol's time limit.

    Args:
        game: any name `evade.envs.games.resolve` knows: `minatar/breakout`, `minigrid/DoorKey-5x5`, `atari/pong`.
        render_mode: `"rgb_array"` to enable `render`.
        settings: fields of `EnvConfig`, such as `num_frames=6` or `sticky_probability=0.1`.
    """

    def __init__(self, game: str, *, render_mode: Literal["rgb_array"] | None = None, **settings: Any) -> None:
        known = [field.name for field in fields(EnvConfig)]
        if unknown := sorted(settings.keys() - set(known)):
            raise ConfigError(f"Invalid setting {', '.join(unknown)} of a game: must be one of {', '.join(known)}.")
        config = EnvConfig(**settings)
        self._env, spec = build_game(game, config)
        super().__init__(spec, config.num_frames, render_mode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; a seed determines everything that follows. There are no options."""
        super().reset(seed=seed, options=options)
        frame, _ = self._env.reset(seed=seed)
        self._observation = np.repeat(frame[None], len(self.observation_space.low), 0)  # type: ignore[attr-defined]
        return self._observation.copy(), {}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play one step; the reward is the game's own, not clipped."""
        stack = self._current()
        frame, reward, terminated, truncated, _ = self._env.step(int(action))
        self._observation = np.concatenate([stack[1:], frame[None]])
        return self._observation.copy(), float(reward), bool(terminated), bool(truncated and not terminated), {}

    def close(self) -> None:
        """Free the emulator."""
        self._env.close()
