"""Generalised advantage estimation as one pure function."""

from typing import NamedTuple

import torch
from torch import Tensor


class Advantages(NamedTuple):
    """How much better each action was than expected, and what the value should have been."""

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

    A terminated step has no future: neither its successor's value nor later advantages count. A truncated step
    does have one, which `next_value` stands for, but later advantages belong to another episode. The last step is
    closed by its `next_value` in any case.

    Args:
        reward: `[T, N]`, for the action at t.
        value: `[T, N]`, of the observation at t.
        next_value: `[T, N]`, of what the action at t led to, before any reset.
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


def normalise(advantage: Tensor) -> Tensor:
    """To mean 0 and deviation 1 over the whole rollout."""
    deviation, mean = torch.std_mean(advantage, correction=0)
    return (advantage - mean) / (deviation + 1e-8)
