"""One supervised update of any world model."""

import torch
from torch import Tensor

from evade.interfaces import WorldModel
from evade.optimisers import step
from evade.records import Transitions


def fit_update(
    model: WorldModel, optimiser: torch.optim.Optimizer, batch: Transitions, max_gradient_norm: float
) -> dict[str, Tensor]:
    """Make one optimiser step on a batch.

    Returns:
        The model's metrics before the step, and the gradient's norm before clipping.
    """
    loss = model.compute_loss(batch)
    gradient_norm = step(optimiser, loss.total, max_gradient_norm)
    return loss.metrics | {"gradient_norm": gradient_norm}
