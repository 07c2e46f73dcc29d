"""T2T SimPLe's clipped losses: zero loss and gradient where the cross-entropy is already below a cutoff."""

import math

from torch import Tensor
from torch.nn import functional as F


def clipped_cross_entropy(logits: Tensor, target: Tensor, cutoff: float) -> Tensor:
    """relu(cross-entropy - cutoff) for every prediction.

    Args:
        logits: `[..., V]`.
        target: int64 `[...]`, classes 0 to V - 1.
        cutoff: in nats.

    Returns:
        `[...]`.
    """
    entropy = F.cross_entropy(logits.flatten(0, -2).float(), target.flatten(), reduction="none")
    return F.relu(entropy - cutoff).view(target.shape)


def clipped_binary_cross_entropy(logits: Tensor, target: Tensor, cutoff: float) -> Tensor:
    """The same for binary predictions: logits `[...]` (log-odds) and bool target `[...]` to `[...]`."""
    entropy = F.binary_cross_entropy_with_logits(logits.float(), target.float(), reduction="none")
    return F.relu(entropy - cutoff)


def certain_log_odds(cutoff: float) -> float:
    """Log-odds from which on a binary prediction may be certain: those of a loss of twice the cutoff.

    A fit pushes certain predictions up to the cutoff and no further: 4.6 for 0.01 nats, where this is 3.9.
    """
    return -math.log(math.expm1(2 * cutoff)) if cutoff > 0 else math.inf
