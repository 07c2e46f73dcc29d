"""Fitting by gradient: one optimiser update on the loss of a batch, of single transitions or of sequences."""

from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from evade.interfaces import Fitter, SequenceFitter
from evade.optimisers import SavedOptimiser, update
from evade.records import Loss, Sequences, Transitions
from evade.replay.store import Replay
from evade.world_models.sequences import as_sequences


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


class DecayingFitter(GradientFitter[Model]):
    """Fits a world model by gradient with a prior on some kernels, whose weight falls as the data grow.

    The mean loss of N transitions plus the negative log of a Gaussian prior over N: so the decay is divided by N.

    Args:
        model: fitted in place.
        optimiser: with a `decay` in the groups of these kernels.
        max_gradient_norm: gradients are clipped to this global norm.
        decay: of one transition.
        num_transitions: int64 scalar, a buffer of the model: N.
    """

    def __init__(
        self,
        model: Model,
        optimiser: torch.optim.Optimizer,
        max_gradient_norm: float,
        *,
        decay: float,
        num_transitions: Tensor,
    ) -> None:
        super().__init__(model, optimiser, max_gradient_norm)
        self._decay, self._num_transitions = decay, num_transitions

    def _descend(self, loss: Loss) -> dict[str, Tensor]:
        for group in self.optimiser.param_groups:
            if "decay" in group:
                group["decay"] = self._decay / max(1, int(self._num_transitions))
        return super()._descend(loss)


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


def update_on_replay(
    fitter: Fitter, replay: Replay, generator: torch.Generator, device: torch.device
) -> dict[str, Tensor]:
    """Sample the batch that the fitter takes, single transitions or sequences, and make one update on it.

    Args:
        fitter: of the world model.
        replay: all real experience.
        generator: on the CPU.
        device: of the world model.
    """
    if isinstance(fitter, SequenceFitter):
        return fitter.update_on_sequences(Sequences(*(field.to(device) for field in replay.sequences(generator))))
    return fitter.update(Transitions(*(field.to(device) for field in replay.batch(generator))))


def update_on_transitions(fitter: Fitter, batch: Transitions, target_frames: int) -> dict[str, Tensor]:
    """One update on transitions, made into sequences of that many targets for a fitter that takes them."""
    if isinstance(fitter, SequenceFitter):
        return fitter.update_on_sequences(as_sequences(batch, target_frames))
    return fitter.update(batch)
