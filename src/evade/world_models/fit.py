"""Fitting by gradient: one optimiser update on the loss of a batch, of single transitions or of sequences."""

from typing import Generic, NamedTuple, Protocol, TypeVar

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


class KernelPrior(NamedTuple):
    """A prior on some kernels, whose weight falls as the data grow.

    The mean loss of N transitions plus the negative log of a Gaussian prior over N: so the decay is divided by N. The
    optimiser has a `decay` in the groups of these kernels.
    """

    decay: float
    """Of one transition."""
    num_transitions: Tensor
    """int64 scalar, a buffer of the model: N."""


class GradientFitter(SavedOptimiser, Generic[Model]):
    """Fits a world model by gradient.

    Args:
        model: fitted in place.
        optimiser: of its parameters.
        max_gradient_norm: gradients are clipped to this global norm.
        prior: on kernels that decay.
    """

    def __init__(
        self,
        model: Model,
        optimiser: torch.optim.Optimizer,
        max_gradient_norm: float,
        prior: KernelPrior | None = None,
    ) -> None:
        super().__init__(optimiser)
        self.model, self.max_gradient_norm, self._prior = model, max_gradient_norm, prior

    def update(self, batch: Transitions) -> dict[str, Tensor]:
        """Make one optimiser update on a batch.

        Returns:
            The model's metrics before the update, and the gradient's norm before clipping.
        """
        return self._descend(self.model.compute_loss(batch))

    def _descend(self, loss: Loss) -> dict[str, Tensor]:
        if self._prior is not None:
            decay = self._prior.decay / max(1, int(self._prior.num_transitions))
            for group in self.optimiser.param_groups:
                if "decay" in group:
                    group["decay"] = decay
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
