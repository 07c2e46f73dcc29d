"""Fitting by gradient: one optimiser update on the loss of a batch."""

from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from evade.optimisers import SavedOptimiser, update
from evade.records import Loss, Sequences, Transitions


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
        return self._descend(self.model.compute_loss(batch))

    def _descend(self, loss: Loss) -> dict[str, Tensor]:
        gradient_norm = update(self.optimiser, loss.total, self.max_gradient_norm)
        return loss.metrics | {"gradient_norm": gradient_norm}


class HasSequenceLoss(HasLoss, Protocol):
    """A model that is fitted to sequences by gradient, and whose loss depends on how often it was updated."""

    num_updates: Tensor
    """int64 scalar, a buffer of the model: updates so far."""

    def compute_sequence_loss(self, batch: Sequences) -> Loss:
        """Compute the loss of a batch and named metrics."""
        ...


SequenceModel = TypeVar("SequenceModel", bound=HasSequenceLoss)


class SequenceGradientFitter(GradientFitter[SequenceModel]):
    """Fits a world model to sequences by gradient (`interfaces.SequenceFitter`), and counts the updates in it."""

    def update_on_sequences(self, batch: Sequences) -> dict[str, Tensor]:
        """Make one optimiser update on a batch; returns what `update` returns."""
        return self._descend(self.model.compute_sequence_loss(batch))

    def _descend(self, loss: Loss) -> dict[str, Tensor]:
        metrics = super()._descend(loss)
        self.model.num_updates += 1
        return metrics
