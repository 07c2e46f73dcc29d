"""The real games as an environment of tensors that remembers all it saw."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from evade.envs import Episode, VectorEnv
from evade.records import EnvStep
from evade.replay.chunk import Chunk, join_episodes


class RealEnv:
    """N real games that step together; `chunk` is everything that happened in them.

    Args:
        games: the batch of games; used up by this.
        device: where observations go.
        progress: told the number of steps made so far, all games together.
    """

    def __init__(
        self, games: VectorEnv, device: torch.device, progress: Callable[[int], None] = lambda done: None
    ) -> None:
        self.num_envs = games.num_envs
        self.episodes: list[Episode] = []
        self._games, self._device, self._progress = games, device, progress
        self._num_steps = 0
        self._logs: list[list[_Log]] = [[] for _ in range(self.num_envs)]

    def reset(self) -> Tensor:
        """Begin all games."""
        observation = self._games.reset()
        for log, stack in zip(self._logs, observation, strict=True):
            log.append(_Log(stack[-1]))
        return torch.from_numpy(observation).to(self._device)

    def step(self, action: Tensor) -> EnvStep:
        """Play one action in each game and write it down."""
        chosen = action.cpu().numpy()
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
            self._logs[episode.env].append(_Log(step.observation[episode.env, -1]))
        self.episodes += step.episodes
        self._num_steps += self.num_envs
        self._progress(self._num_steps)
        final = torch.from_numpy(step.final_observation) if step.truncated.any() else None
        return EnvStep(
            observation=torch.from_numpy(step.observation).to(self._device),
            reward=torch.from_numpy(step.reward).to(self._device),
            terminated=torch.from_numpy(step.terminated).to(self._device),
            truncated=torch.from_numpy(step.truncated).to(self._device),
            final_observation=None if final is None else final.to(self._device),
        )

    def chunk(self) -> Chunk:
        """All frames, actions and rewards, game by game, episode by episode; a game just begun is left out."""
        return join_episodes([log.chunk() for logs in self._logs for log in logs if log.actions])

    def close(self) -> None:
        """Free the emulators."""
        self._games.close()


class _Log:
    """One episode while it happens."""

    def __init__(self, frame: np.ndarray) -> None:
        self.frames = [frame]
        self.actions: list[int] = []
        self.rewards, self.raw_rewards, self.terminated = [0.0], [0.0], [False]

    def add(self, action: int, frame: np.ndarray, reward: float, raw_reward: float, terminated: bool) -> None:
        self.actions.append(action)
        self.frames.append(frame)
        self.rewards.append(reward)
        self.raw_rewards.append(raw_reward)
        self.terminated.append(terminated)

    def chunk(self) -> Chunk:
        return Chunk(
            frame=torch.from_numpy(np.stack(self.frames)),
            action=torch.tensor([*self.actions, 0], dtype=torch.uint8),
            reward=torch.tensor(self.rewards).to(torch.int8),
            raw_reward=torch.tensor(self.raw_rewards, dtype=torch.float32),
            terminated=torch.tensor(self.terminated),
            position=torch.arange(len(self.frames), dtype=torch.int32),
        )
