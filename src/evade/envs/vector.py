"""A batch of games that step together, with frame stacking and automatic resets. Numpy only."""

import warnings
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evade.envs.preprocess import Env, clip_reward
from evade.errors import ActionError, ResetNeeded, RewardError
from evade.game_spec import GameSpec


class Episode(NamedTuple):
    """One finished episode."""

    env: int
    """Index of the game in the batch."""
    raw_return: float
    """Sum of the raw rewards: the score."""
    length: int
    """Agent steps, without the no-ops at the start."""


class Step(NamedTuple):
    """The result of one step of N games. Every array is a copy that the caller may change."""

    observation: NDArray[np.uint8]
    """`[N, K, C, H, W]`, oldest frame first; of a game that ended, the first observation of its next episode."""
    reward: NDArray[np.float32]
    """`[N]`, clipped to the game's range and rounded: for learning."""
    raw_reward: NDArray[np.float64]
    """`[N]`, as returned by the game: for scores."""
    terminated: NDArray[np.bool_]
    """`[N]`: the game ended at this step."""
    truncated: NDArray[np.bool_]
    """`[N]`: a time limit cut the game off at this step; never True together with `terminated`."""
    final_observation: NDArray[np.uint8]
    """`[N, K, C, H, W]`: the observation the actions led to, before any reset; `observation` itself if none ended."""
    episodes: tuple[Episode, ...]
    """Episodes that ended at this step, by rising `env`."""


class Games(Protocol):
    """N games that step together, in numpy: a `VectorEnv`, or a recorder around one."""

    num_envs: int

    def reset(self) -> NDArray[np.uint8]:
        """Begin an episode in every game that does not go on; returns observations `[N, K, C, H, W]`."""
        ...

    def step(self, actions: ArrayLike) -> Step:
        """Play one action `[N]` in each game."""
        ...

    def close(self) -> None:
        """Free the emulators."""
        ...


class VectorEnv:
    """N copies of a game that step together.

    A game that ends is reset within the same step; its last observation is in `Step.final_observation`, so that a
    truncated return can be bootstrapped. At a reset the first frame fills the whole stack. Game i depends on `seed`, i
    and its own actions only, not on the other games.

    Args:
        envs: the games; each returns raw rewards and frames uint8 `[C, H, W]`.
        spec: the spec they share.
        seed: a non-negative integer.
        num_frames: K, the frames in an observation.
        first: number of the first game; one batch that begins at 3 plays what game 3 of a larger batch plays.
        reward_scale: what rewards are multiplied by before they are rounded and clipped for learning.
    """

    has_warned: ClassVar[bool] = False
    """Whether this process has warned that rewards are lost by rounding; once is enough."""

    def __init__(
        self,
        envs: Sequence[Env],
        spec: GameSpec,
        seed: int,
        num_frames: int = 4,
        first: int = 0,
        reward_scale: float = 1.0,
    ) -> None:
        self.spec = spec
        self._reward_scale = reward_scale
        self.num_envs = len(envs)
        self.num_frames = num_frames
        self._envs = tuple(envs)
        self._seeds = [_derive_seed(seed, first + index) for index in range(self.num_envs)]
        self._first = first
        self.num_kept = 0
        """How many of the first games go on at the next reset."""
        self.recent_actions = np.zeros((self.num_envs, num_frames - 1), np.int64)
        """What was played at each frame of the stack but the last; 0 at copies of an episode's first frame."""
        self._is_running = False
        self._stack = np.zeros((self.num_envs, num_frames, spec.channels, spec.height, spec.width), np.uint8)
        self._raw_reward = np.zeros(self.num_envs, np.float64)
        self._terminated = np.zeros(self.num_envs, np.bool_)
        self._truncated = np.zeros(self.num_envs, np.bool_)
        self._returns = np.zeros(self.num_envs, np.float64)
        self._lengths = np.zeros(self.num_envs, np.int64)

    def reset(self) -> NDArray[np.uint8]:
        """Begin an episode in every game, drop unfinished ones; returns observations `[N, K, C, H, W]`.

        Only the first reset seeds the games; later ones continue with the games' generators. After `keep`, the games
        named there go on where they are.
        """
        for index in range(self.num_kept, self.num_envs):
            self._begin(index)
        self._is_running, self.num_kept = True, 0
        return self._stack.copy()

    def keep(self, num_games: int, seed: int) -> None:
        """At the next reset the first `num_games` go on; the others begin as in a new batch with this seed."""
        assert self._is_running or num_games == 0, "only games that have begun can go on"
        self.num_kept = num_games
        for index in range(num_games, self.num_envs):
            self._seeds[index] = _derive_seed(seed, self._first + index)

    def step(self, actions: ArrayLike) -> Step:
        """Play one action `[N]` in each game."""
        chosen = self._check_actions(actions)
        self._stack[:, :-1] = self._stack[:, 1:]
        self.recent_actions = np.column_stack([self.recent_actions, chosen])[:, 1:]
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
            reward=self._clip_rewards(),
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
        self.recent_actions[index] = 0
        self._returns[index] = 0
        self._lengths[index] = 0

    def _finish(self, index: int) -> Episode:
        episode = Episode(index, float(self._returns[index]), int(self._lengths[index]))
        self._begin(index)
        return episode

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.integer]:
        if not self._is_running:
            raise ResetNeeded("The games have not begun: call reset() before the first step().")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise ActionError(
                f"Invalid actions of shape {chosen.shape} and type {chosen.dtype}: must be {self.num_envs} integers, "
                f"one for each game."
            )
        if chosen.min() < 0 or chosen.max() >= self.spec.num_actions:
            raise ActionError(
                f"Invalid actions from {chosen.min()} to {chosen.max()}: must be 0 to {self.spec.num_actions - 1} in "
                f"this game."
            )
        return chosen

    def _clip_rewards(self) -> NDArray[np.float32]:
        clipped = clip_reward(self._raw_reward * self._reward_scale, self.spec.lowest_reward, self.spec.highest_reward)
        if not VectorEnv.has_warned and np.count_nonzero(self._raw_reward):
            scaled = np.abs(self._raw_reward * self._reward_scale)
            for reward in self._raw_reward[(scaled > 0) & (scaled < 1) & (clipped == 0)][:1]:
                VectorEnv.has_warned = True
                warnings.warn(
                    f"a reward of {reward:g} is rounded to 0, so the agent does not see it: scale rewards with "
                    f"env.reward_scale (--env.reward-scale) if such rewards matter.",
                    RuntimeWarning,
                    stacklevel=3,
                )
        return clipped

    def _check_rewards(self) -> None:
        if not np.isfinite(self._raw_reward).all():
            index = int(np.flatnonzero(~np.isfinite(self._raw_reward))[0])
            raise RewardError(f"Invalid reward {self._raw_reward[index]} of game {index} of the batch: must be finite.")


def _derive_seed(seed: int, number: int) -> int | None:
    """The seed of one game of a batch."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
