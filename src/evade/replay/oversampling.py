"""How much more often batches show a reward, an end or a change than it happens."""

from collections.abc import Collection, Iterable

import torch
from torch import Tensor

from evade.records import NEVER_SEEN


def measure_excess(
    reward: Tensor, ends: Tensor, changes: Tensor, classes: Tensor, parts: Iterable[tuple[float, Collection[Tensor]]]
) -> tuple[Tensor, Tensor, Tensor]:
    """By how much rewards, `[R]`, ends, a scalar, and changes, `[N]`, are oversampled: 0 where nothing is.

    The log of the ratio of shares for rewards, the difference of log-odds for the others, all float32. Rewards and ends
    that never happened are `NEVER_SEEN`; changes that never or always happen are 0.

    Args:
        reward: `[W]`, of all transitions to fit to.
        ends: bool `[W]`.
        changes: bool `[W, N]`, which of them happen in each transition.
        classes: `[R]`, all rewards.
        parts: of each batch, as its share and in which transitions each event happened, bool `[W]` each; events are
            equally likely. A part without events, and the rest, is sampled uniformly.
    """
    if len(reward) == 0:
        return torch.zeros(len(classes)), torch.zeros(()), torch.zeros(changes.shape[1])
    happened = torch.cat([reward.unsqueeze(1) == classes, ends.unsqueeze(1), changes], 1).double()
    happens = sampled = happened.mean(0)
    for share, events in parts:
        if events:
            sampled = sampled + share * (torch.stack([happened[event].mean(0) for event in events]).mean(0) - happens)
    count, never = len(classes), happens == 0
    of_rewards = (sampled / happens).log()[:count].masked_fill(never[:count], NEVER_SEEN)
    of_others = (sampled.logit() - happens.logit())[count:].nan_to_num(posinf=0.0, neginf=0.0)
    return of_rewards.float(), of_others[0].masked_fill(never[count], NEVER_SEEN).float(), of_others[1:].float()
