"""Fitting by gradient: one optimiser update on the loss of a batch."""

from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from evade.optimisers import SavedOptimiser, update
from evade.records import Loss, Transitions


class HasLoss(Protocol):
    """A model that is fitted by gradient."""

    def compute_loss(self, batch: Transitions) -> Loss:
        """Compute the loss of a batch and named metrics."""
        ...


Model = TypeVar("Model", bound=HasLoss)


class GradientFitter(SavedOptimiser, Generic[Model]):
    """Fits a world model by gradient.

    Args:
        model: fitted in place.
        optimiser: of its parameters.
        max_gradient_norm: gradients are clipped to this global norm.
    """

    def __init__(self, model: Model, optimiser: torch.optim.Optimizer, max_gradient_norm: float) -> None:
        super().__init__(optimiser)
        self.model, self.max_gradient_norm = model, max_gradient_norm

    def update(self, batch: Transitions) -> dict[str, Tensor]:
        """Make one optimiser update on a batch.

        Returns:
            The model's metrics before the update, and the gradient's norm before clipping.
        """
        loss = self.model.compute_loss(batch)
        gradient_norm = update(self.optimiser, loss.total, self.max_gradient_norm)
        return loss.metrics | {"gradient_norm": gradient_norm}
