"""The contracts between the parts."""

from typing import Protocol

from torch import Tensor

from evade.records import EnvStep, Loss, Prediction, Transitions


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


class Environment(Protocol):
    """N games that step together: real ones or dreams; who acts in them cannot tell which.

    A game that ends goes on with another one within the same step.
    """

    num_envs: int

    def reset(self) -> Tensor:
        """Begin all games; gives the observations, uint8 `[N, K, C, H, W]`."""
        ...

    def step(self, action: Tensor) -> EnvStep:
        """Play one action in each game, int64 `[N]`."""
        ...
