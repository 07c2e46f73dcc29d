"""How much more often batches show a reward or an end than it happens."""

from collections.abc import Collection

import torch
from torch import Tensor


def measure_excess(
    reward: Tensor, ends: Tensor, kinds: Collection[Tensor], classes: Tensor, share: float
) -> tuple[Tensor, Tensor]:
    """The log of the ratio of each reward's shares, float32 `[R]`, and the difference of the ends' log-odds, a scalar.

    Both are 0 where nothing is oversampled, or where there is nothing to compare with.

    Args:
        reward: `[W]`, of all transitions to fit to.
        ends: bool `[W]`.
        kinds: which of them are eventful, by kind, bool `[W]` each; batches sample each kind equally often.
        classes: `[R]`, all rewards.
        share: of each batch that is eventful.
    """
    if len(reward) == 0 or not kinds or share == 0:
        return torch.zeros(len(classes)), torch.zeros(())
    is_class, ends = (reward.unsqueeze(1) == classes).double(), ends.double()
    happens, ends_happen = is_class.mean(0), ends.mean()
    sampled = (1 - share) * happens + share * torch.stack([is_class[kind].mean(0) for kind in kinds]).mean(0)
    ends_sampled = (1 - share) * ends_happen + share * torch.stack([ends[kind].mean() for kind in kinds]).mean()
    excess = torch.where(happens > 0, sampled / happens, 1.0).log()
    end_excess = ends_sampled.logit() - ends_happen.logit() if 0 < ends_happen < 1 else torch.zeros(())
    return excess.float(), end_excess.float()
