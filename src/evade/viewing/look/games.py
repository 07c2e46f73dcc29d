"""The real game beside the dream: played live, or shown from its recording where it cannot be played again."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evade.config import RunConfig
from evade.envs import VectorEnv, make_env
from evade.errors import LookError
from evade.viewing.look.film import Origin, Start


class GameStep(NamedTuple):
    """What one action led to."""

    frame: NDArray[np.uint8]
    """`[C, H, W]`."""
    reward: float
    """Clipped, as networks learn it."""
    raw_reward: float
    terminated: bool
    truncated: bool


class RealGame(Protocol):
    """A game that can go back."""

    is_live: bool
    """Whether any action can be played."""

    def step(self, action: int) -> GameStep:
        """Play one action."""
        ...

    def rewind(self, actions: Sequence[int]) -> None:
        """Go back to the start and play these actions."""
        ...

    def close(self) -> None:
        """Free the emulator."""
        ...


class LiveGame:
    """The game itself. Going back plays all actions since the first reset again, which any seeded game allows.

    Args:
        config: of the run.
        origin: where the game starts.
    """

    is_live = True

    def __init__(self, config: RunConfig, origin: Origin) -> None:
        self._config, self._origin = config, origin
        self._env: VectorEnv | None = None
        self.start: NDArray[np.uint8] = self._begin()
        """The observation at the origin, `[K, C, H, W]`."""

    def step(self, action: int) -> GameStep:
        """Play one action."""
        assert self._env is not None
        step = self._env.step([action])
        ended = bool(step.terminated[0]), bool(step.truncated[0])
        return GameStep(step.final_observation[0, -1], float(step.reward[0]), float(step.raw_reward[0]), *ended)

    def rewind(self, actions: Sequence[int]) -> None:
        """Make the game again and play these actions."""
        self._begin()
        for action in actions:
            self.step(action)

    def close(self) -> None:
        """Free the emulator."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _begin(self) -> NDArray[np.uint8]:
        self.close()
        seed, env, actions = self._origin
        self._env = make_env(self._config.game, 1, seed, self._config.env, first=env)
        observation = self._env.reset()
        for action in actions:
            observation = self._env.step([action]).observation
        start: NDArray[np.uint8] = observation[0]
        return start


class RecordedGame:
    """What was recorded after a frame; only the recorded actions can be played.

    Args:
        start: the frame, with what follows it.
    """

    is_live = False

    def __init__(self, start: Start) -> None:
        self._start, self._at = start, 0

    def step(self, action: int) -> GameStep:
        """Show the next recorded frame."""
        start, at = self._start, self._at
        if at == len(start.actions) or action != start.actions[at]:
            raise LookError(
                "This game cannot be played again from a recorded frame, so only its recorded actions can be shown: "
                "choose Recording, or start a new game."
            )
        self._at += 1
        terminated = start.terminated[at]
        truncated = not terminated and self._at == len(start.actions)
        return GameStep(start.frames[at].numpy(), start.rewards[at], start.raw_rewards[at], terminated, truncated)

    def rewind(self, actions: Sequence[int]) -> None:
        """Go back to the frame after these actions, which must be recorded ones."""
        self._at = len(actions)

    def close(self) -> None:
        """Nothing is open."""


def bring_to(config: RunConfig, start: Start) -> RealGame:
    """The game at a recorded frame; its recording if playing the same actions again leads elsewhere."""
    game = LiveGame(config, start.origin)
    if np.array_equal(game.start, start.observation.numpy()):
        return game
    game.close()
    return RecordedGame(start)
