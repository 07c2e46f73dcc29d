"""Rewards as classes: from a reward to its class, and from logits to a reward."""

from typing import Literal

import torch
from torch import Tensor

from evade.errors import RewardError


def mean_reward(logits: Tensor, lowest: int) -> Tensor:
    """The mean of the predicted distribution, `[B]`.

    Args:
        logits: `[B, R]`.
        lowest: the reward of class 0; the others follow one by one.
    """
    values = torch.arange(logits.shape[-1], device=logits.device) + lowest
    return (logits.softmax(-1) * values).sum(-1)


def decide_reward(logits: Tensor, lowest: int, estimate: Literal["argmax", "expected"]) -> Tensor:
    """The reward of a dream's step, float32 `[B]`; arguments as in `mean_reward`, and which reward it is."""
    if estimate == "expected":
        return mean_reward(logits, lowest)
    return (logits.argmax(-1) + lowest).float()


def reward_classes(reward: Tensor, lowest: int, count: int) -> Tensor:
    """The classes of rewards, int64 of the same shape.

    Args:
        reward: whole numbers of any shape.
        lowest: the reward of class 0.
        count: the number of classes.

    Raises:
        RewardError: a reward has no class.
    """
    classes = reward.long() - lowest
    if ((classes < 0) | (classes >= count)).any():
        raise RewardError(
            f"Invalid rewards from {reward.min().item()} to {reward.max().item()}: must be {lowest} to "
            f"{lowest + count - 1}. Clip them first."
        )
    return classes
