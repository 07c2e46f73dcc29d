"""Choosing actions: by the policy's probabilities, sharpened or not, or at random."""

from typing import Protocol

import torch
from torch import Tensor, nn

from evade.policies.network import PolicyOutput


class Policy(Protocol):
    """Anything that scores actions and values observations, as `ActorCritic` does."""

    def __call__(self, observation: Tensor) -> PolicyOutput:
        """Uint8 `[B, K, C, H, W]` to logits `[B, A]` and value `[B]`."""
        ...


class RandomPolicy(nn.Module):
    """Every action equally likely: the zero of every table."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Equal scores, no value."""
        logits = torch.zeros(len(observation), self.num_actions, device=observation.device)
        return PolicyOutput(logits, logits[:, 0])


def choose_action(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Draw actions from probabilities taken to the power 1 / temperature.

    Args:
        logits: `[B, A]`.
        temperature: 1 for the policy itself, 0 for its most likely action.
        generator: on the logits' device.

    Returns:
        int64 `[B]`.
    """
    if temperature == 0:
        return logits.argmax(-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator).squeeze(1)
