"""The contracts between the parts."""

from typing import Protocol

from torch import Tensor

from evade.records import Loss, Prediction, Transitions


class WorldModel(Protocol):
    """A learnt game: fitted on transitions, then stepped as if it were the game."""

    def compute_loss(self, batch: Transitions) -> Loss:
        """Batch in, loss and named metrics out."""
        ...

    def predict(self, observation: Tensor, action: Tensor) -> Prediction:
        """The most likely next frame, reward and end, for dreaming.

        Args:
            observation: uint8 `[B, K, C, H, W]`.
            action: int64 `[B]`.
        """
        ...
