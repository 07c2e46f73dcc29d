"""Recording of real games."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from evade.envs.vector import Step, VectorEnv
from evade.replay.chunk import Chunk, join_episodes


class Recorder:
    """Wraps N games and records every frame, action and reward.

    Args:
        games: the batch of games, not yet reset. Of those that go on then, the stacked frames are recorded too.
    """

    def __init__(self, games: VectorEnv) -> None:
        self.num_envs = games.num_envs
        self._games = games
        self._logs: list[list[_Log]] = [[] for _ in range(self.num_envs)]

    def reset(self) -> NDArray[np.uint8]:
        """Begin all games that do not go on."""
        num_kept, played = self._games.num_kept, self._games.recent_actions
        observation = self._games.reset()
        for index, stack in enumerate(observation):
            self._logs[index].append(_Log(stack, played[index]) if index < num_kept else _Log(stack[-1:]))
        return observation

    def step(self, actions: ArrayLike) -> Step:
        """Play one action in each game and record the result."""
        chosen = np.asarray(actions)
        step = self._games.step(chosen)
        for index, log in enumerate(self._logs):
            log[-1].add(
                int(chosen[index]),
                step.final_observation[index, -1],
                float(step.reward[index]),
                float(step.raw_reward[index]),
                bool(step.terminated[index]),
            )
        for episode in step.episodes:
            self._logs[episode.env].append(_Log(step.observation[episode.env, -1:]))
        return step

    def chunk(self) -> Chunk:
        """Everything recorded, game by game, episode by episode; episodes without a step are left out."""
        return join_episodes([log.chunk() for logs in self._logs for log in logs if log.actions])

    def close(self) -> None:
        """Free the emulators."""
        self._games.close()


class _Log:
    """One episode in progress, from its first frame on, or from the K frames that the agent sees.

    Args:
        seen: these frames.
        played: the actions at all but the last of them.
    """

    def __init__(self, seen: np.ndarray, played: ArrayLike = ()) -> None:
        self.frames, self.history = list(seen), np.asarray(played, np.int64).tolist()
        self.actions: list[int] = []
        self.rewards, self.raw_rewards, self.terminated = ([zero] * len(seen) for zero in (0.0, 0.0, False))

    def add(self, action: int, frame: np.ndarray, reward: float, raw_reward: float, terminated: bool) -> None:
        self.actions.append(action)
        self.frames.append(frame)
        self.rewards.append(reward)
        self.raw_rewards.append(raw_reward)
        self.terminated.append(terminated)

    def chunk(self) -> Chunk:
        return Chunk(
            frame=torch.from_numpy(np.stack(self.frames)),
            action=torch.tensor([*self.history, *self.actions, 0], dtype=torch.uint8),
            reward=torch.tensor(self.rewards).to(torch.int8),
            raw_reward=torch.tensor(self.raw_rewards, dtype=torch.float32),
            terminated=torch.tensor(self.terminated),
            position=torch.arange(len(self.frames), dtype=torch.int32) - len(self.history),
        )
