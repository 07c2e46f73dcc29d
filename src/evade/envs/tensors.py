"""Real games behind the tensor interface `interfaces.Environment`."""

import torch
from torch import Tensor

from evade.envs.vector import Episode, Games, Step
from evade.records import EnvStep


class RealEnv:
    """N real games that step together: an `interfaces.Environment`.

    Args:
        games: the batch of games (`make_env`), or a recorder around it.
        device: of all tensors returned.
    """

    def __init__(self, games: Games, device: torch.device) -> None:
        self.num_envs = games.num_envs
        self.episodes: list[Episode] = []
        """All episodes finished so far."""
        self.last_step: Step | None = None
        """The games' own last step, with raw rewards and final observations; None before the first."""
        self._games, self._device = games, device

    def reset(self) -> Tensor:
        """Begin all games."""
        return torch.from_numpy(self._games.reset()).to(self._device)

    def step(self, action: Tensor) -> EnvStep:
        """Play one action in each game."""
        step = self.last_step = self._games.step(action.cpu().numpy())
        self.episodes += step.episodes
        final = torch.from_numpy(step.final_observation) if step.truncated.any() else None
        return EnvStep(
            observation=torch.from_numpy(step.observation).to(self._device),
            reward=torch.from_numpy(step.reward).to(self._device),
            terminated=torch.from_numpy(step.terminated).to(self._device),
            truncated=torch.from_numpy(step.truncated).to(self._device),
            final_observation=None if final is None else final.to(self._device),
        )

    def close(self) -> None:
        """Free the emulators."""
        self._games.close()
