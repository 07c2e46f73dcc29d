"""How much more often batches show a reward or an end than it happens."""

from collections.abc import Collection, Iterable

import torch
from torch import Tensor

from evade.records import NEVER_SEEN


def measure_excess(
    reward: Tensor, ends: Tensor, classes: Tensor, parts: Iterable[tuple[float, Collection[Tensor]]]
) -> tuple[Tensor, Tensor]:
    """The log of the ratio of each reward's shares, float32 `[R]`, and the difference of the ends' log-odds, a scalar.

    Both are 0 where nothing is oversampled, and `NEVER_SEEN` for what never happened.

    Args:
        reward: `[W]`, of all transitions to fit to.
        ends: bool `[W]`.
        classes: `[R]`, all rewards.
        parts: of each batch, as its share and which transitions are of each kind, bool `[W]` each; kinds are equally
            likely. A part without kinds, and the rest, is sampled uniformly.
    """
    if len(reward) == 0:
        return torch.zeros(len(classes)), torch.zeros(())
    # The ends are one column more.
    happened = torch.cat([reward.unsqueeze(1) == classes, ends.unsqueeze(1)], 1).double()
    happens = sampled = happened.mean(0)
    for share, kinds in parts:
        if kinds:
            sampled = sampled + share * (torch.stack([happened[kind].mean(0) for kind in kinds]).mean(0) - happens)
    reward_excess = (sampled / happens).log()[:-1]
    end_excess = (sampled.logit() - happens.logit())[-1].nan_to_num()
    never = happens == 0
    return (
        reward_excess.masked_fill(never[:-1], NEVER_SEEN).float(),
        end_excess.masked_fill(never[-1], NEVER_SEEN).float(),
    )
