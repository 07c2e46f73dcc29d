"""A batch of games that step together: frames stacked, ended games restarted within the step. Numpy only."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evade.envs.preprocess import Env, clip_reward
from evade.errors import ActionError, ResetNeeded, RewardError
from evade.game_spec import GameSpec


class Episode(NamedTuple):
    """One finished episode."""

    env: int
    """Which game of the batch, from 0."""
    raw_return: float
    """Sum of the raw rewards: the score."""
    length: int
    """Steps of the agent, without the waiting at the start."""


class Step(NamedTuple):
    """What one step of all N games gave. Every array is the caller's own."""

    observation: NDArray[np.uint8]
    """`[N, K, C, H, W]`, oldest frame first: what to act on next. An ended game shows its next episode."""
    reward: NDArray[np.float32]
    """`[N]`, clipped to the game's range and rounded: what is learnt from."""
    raw_reward: NDArray[np.float64]
    """`[N]`, as the game gave it: what scores are made of."""
    terminated: NDArray[np.bool_]
    """`[N]`: the game ended at this step."""
    truncated: NDArray[np.bool_]
    """`[N]`: a limit cut the game off after this step, though it had not ended; never with `terminated`."""
    final_observation: NDArray[np.uint8]
    """`[N, K, C, H, W]`: what the actions led to, before any restart; `observation` itself if none ended."""
    episodes: tuple[Episode, ...]
    """Those that ended at this step, by rising `env`."""


class Games(Protocol):
    """N games that step together, in numpy: a `VectorEnv`, or a recorder around one."""

    num_envs: int

    def reset(self) -> NDArray[np.uint8]:
        """Begin an episode in every game; gives the observations `[N, K, C, H, W]`."""
        ...

    def step(self, actions: ArrayLike) -> Step:
        """Play one action `[N]` in each game."""
        ...

    def close(self) -> None:
        """Free the emulators."""
        ...


class VectorEnv:
    """N games of one kind stepping together.

    A game that ends is reset within the same step (no step is ever lost to a reset); its last observation is
    in `Step.final_observation`, so that a truncated return can be bootstrapped. At a reset the first frame
    fills the whole stack. All that happens in game i follows from `seed`, i and its actions; other games do
    not matter.

    Args:
        envs: the games; each gives raw rewards and frames uint8 `[C, H, W]`.
        spec: what they have in common.
        seed: a whole number from 0.
        num_frames: K, the frames in an observation.
    """

    def __init__(self, envs: Sequence[Env], spec: GameSpec, seed: int, num_frames: int = 4) -> None:
        self.spec = spec
        self.num_envs = len(envs)
        self.num_frames = num_frames
        self._envs = tuple(envs)
        self._seeds: list[int | None] = [
            int(np.random.SeedSequence([seed, index]).generate_state(1)[0]) for index in range(self.num_envs)
        ]
        self._is_running = False
        self._stack = np.zeros((self.num_envs, num_frames, spec.channels, spec.height, spec.width), np.uint8)
        self._raw_reward = np.zeros(self.num_envs, np.float64)
        self._terminated = np.zeros(self.num_envs, np.bool_)
        self._truncated = np.zeros(self.num_envs, np.bool_)
        self._returns = np.zeros(self.num_envs, np.float64)
        self._lengths = np.zeros(self.num_envs, np.int64)

    def reset(self) -> NDArray[np.uint8]:
        """Begin an episode in every game, drop unfinished ones; gives the observations `[N, K, C, H, W]`.

        Only the first reset seeds the games; a later one goes on with their generators as they are.
        """
        for index in range(self.num_envs):
            self._begin(index)
        self._is_running = True
        return self._stack.copy()

    def step(self, actions: ArrayLike) -> Step:
        """Play one action `[N]` in each game."""
        chosen = self._check_actions(actions)
        self._stack[:, :-1] = self._stack[:, 1:]
        for index, env in enumerate(self._envs):
            frame, reward, terminated, truncated, _ = env.step(int(chosen[index]))
            self._stack[index, -1] = frame
            self._raw_reward[index] = reward
            self._terminated[index] = terminated
            self._truncated[index] = truncated and not terminated
        self._check_rewards()
        self._returns += self._raw_reward
        self._lengths += 1
        final_observation = self._stack.copy()
        episodes = tuple(self._finish(int(index)) for index in np.flatnonzero(self._terminated | self._truncated))
        return Step(
            observation=self._stack.copy() if episodes else final_observation,
            reward=clip_reward(self._raw_reward, self.spec.lowest_reward, self.spec.highest_reward),
            raw_reward=self._raw_reward.copy(),
            terminated=self._terminated.copy(),
            truncated=self._truncated.copy(),
            final_observation=final_observation,
            episodes=episodes,
        )

    def close(self) -> None:
        """Free the emulators."""
        for env in self._envs:
            env.close()

    def _begin(self, index: int) -> None:
        frame, _ = self._envs[index].reset(seed=self._seeds[index])
        self._seeds[index] = None
        self._stack[index] = frame
        self._returns[index] = 0
        self._lengths[index] = 0

    def _finish(self, index: int) -> Episode:
        episode = Episode(index, float(self._returns[index]), int(self._lengths[index]))
        self._begin(index)
        return episode

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.integer]:
        if not self._is_running:
            raise ResetNeeded("the games have not begun: call reset() before the first step().")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise ActionError(
                f"actions of the shape {chosen.shape} and type {chosen.dtype} are not possible: give "
                f"{self.num_envs} whole numbers, one for each game."
            )
        if chosen.min() < 0 or chosen.max() >= self.spec.num_actions:
            raise ActionError(
                f"actions from {chosen.min()} to {chosen.max()} are not possible: this game has 0 to "
                f"{self.spec.num_actions - 1}."
            )
        return chosen

    def _check_rewards(self) -> None:
        if not np.isfinite(self._raw_reward).all():
            index = int(np.flatnonzero(~np.isfinite(self._raw_reward))[0])
            raise RewardError(
                f"game {index} of the batch gave the reward {self._raw_reward[index]}: rewards must be finite numbers."
            )
