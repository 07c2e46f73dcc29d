"""Generalised advantage estimation (GAE)."""

from typing import NamedTuple

import torch
from torch import Tensor


class Advantages(NamedTuple):
    """Advantages of the actions, and value targets."""

    advantage: Tensor
    """`[T, N]`."""
    returns: Tensor
    """`[T, N]`: advantage + value."""


def compute_advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    *,
    discount: float,
    gae_lambda: float,
) -> Advantages:
    """GAE over a rollout of games that may end, or be cut off, at any step.

    A terminated step ends its return: neither its `next_value` nor later advantages count. A truncated step is
    bootstrapped from its `next_value`, but later advantages belong to another game. The last step is always
    bootstrapped from its `next_value`, unless terminated.

    Args:
        reward: `[T, N]`, of the action at t.
        value: `[T, N]`, of the observation at t.
        next_value: `[T, N]`, of the observation the action at t led to, before any reset.
        terminated: bool `[T, N]`, the action at t ended the game.
        truncated: bool `[T, N]`, the game was cut off after the action at t.
        discount: gamma.
        gae_lambda: lambda.
    """
    delta = reward + discount * next_value * ~terminated - value
    carry = discount * gae_lambda * ~(terminated | truncated)
    advantage = torch.empty_like(delta)
    following = torch.zeros_like(delta[0])
    for t in reversed(range(len(delta))):
        following = delta[t] + carry[t] * following
        advantage[t] = following
    return Advantages(advantage, advantage + value)


def normalise(advantage: Tensor, floor: float = 0.0) -> Tensor:
    """Scale to mean 0 and standard deviation 1 over the whole rollout.

    Args:
        advantage: `[T, N]`.
        floor: the divisor is at least this, so that advantages that are all small stay small.
    """
    deviation, mean = torch.std_mean(advantage, correction=0)
    return (advantage - mean) / (deviation + 1e-8).clamp_min(floor)
