"""Correction of predicted probabilities for the oversampling of rewards and ends in batches."""

import torch
from torch import Tensor

from evade.records import NEVER_SEEN
from evade.world_models.losses import certain_log_odds

MAX_EXCESS = 2.3
"""Oversampling is corrected up to a factor of ten. A reward seen once is oversampled a thousandfold, and a fit that
stops at the loss cut-off of 0.01 nats could not make up for more."""


def bound_excess(excess: Tensor) -> Tensor:
    """The excess that is corrected: at most `MAX_EXCESS`, but all of it for what never happened.

    Heads of rewards and ends begin at a probability below that of the loss cut-off, and where nothing ever happens no
    gradient lowers it (docs/decisions/0019-what-never-happened.md).

    Args:
        excess: of any shape, as in `Statistics`.
    """
    return torch.where(excess < NEVER_SEEN, excess.clamp(-MAX_EXCESS, MAX_EXCESS), excess)


def correct_ends(log_odds: Tensor, excess: Tensor, cutoff: float) -> Tensor:
    """The log-odds of ends, `[B]`, as they are in the game; those that may be certain become so.

    The fit stops at the cut-off of its loss, so log-odds near it may stand for certainty. An end that is certain and
    does not come leads to a state that the game never shows (docs/decisions/0017-certain-ends.md).

    Args:
        log_odds: `[B]`, as fitted to batches.
        excess: scalar, how much larger the log-odds of ends are in batches than in the game.
        cutoff: of the loss, in nats.
    """
    return torch.where(log_odds > certain_log_odds(cutoff), torch.inf, log_odds - excess)
