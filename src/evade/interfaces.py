"""The protocols at which the parts meet.

World models, policies and learners come in kinds. Their users name the protocol and nothing else; only
`world_models/build.py` and `policies/build.py` know the kinds.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import torch
from torch import Tensor, nn

from evade.records import EnvStep, Memory, Noise, PolicyOutput, Prediction, Rollout, Sequences, Statistics, Transitions


@runtime_checkable
class Savable(Protocol):
    """Something that must survive a crash: named tensors, and JSON values for the rest."""

    def saved_tensors(self) -> dict[str, Tensor]:
        """All tensors by name; empty if there are none."""
        ...

    def saved_values(self) -> Any:
        """All else as JSON values; None if there is nothing."""
        ...

    def restore(self, tensors: Mapping[str, Tensor], values: Any) -> None:
        """Become what the other two methods described."""
        ...


class Network(Protocol):
    """What parts use of a `torch.nn.Module`."""

    def train(self, mode: bool = True) -> Self:
        """Switch to training mode."""
        ...

    def eval(self) -> Self:
        """Switch to evaluation mode."""
        ...

    def to(self, device: torch.device) -> Self:
        """Move to a device."""
        ...

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """All trainable tensors."""
        ...

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """All modules by name; noisy layers are found among them."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All weights and buffers by name."""
        ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:
        """Take over weights and buffers."""
        ...


class WorldModel(Network, Protocol):
    """A learned game: fitted on transitions (by its `Fitter`), then stepped as if it were the game.

    Models differ in what one step needs. A deterministic one needs observation and action only. One that samples its
    frames also takes random numbers, and a recurrent one also carries memory from step to step. Both are tuples of
    tensors that are opaque to the caller, so that a step is a function of tensors that can be compiled. The posterior's
    draw is not an argument: `evade.layers.draw` and `hold` set it, and do nothing to a model without noisy layers.
    """

    def initial_memory(self, observation: Tensor) -> Memory:
        """Memory of B dreams that begin at some observations, each tensor `[B, ...]`; `()` for a model without memory.

        Args:
            observation: uint8 `[B, K, C, H, W]`.
        """
        ...

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """Random numbers for one step of B dreams; `()` for a model that does not sample.

        Args:
            batch_size: B.
            generator: on the model's device; torch's global one if None.
        """
        ...

    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """The next frame, reward and end of B dreams, and the memory to give to the next step.

        Args:
            observation: uint8 `[B, K, C, H, W]`.
            action: int64 `[B]`.
            memory: of the step before, or `initial_memory`.
            noise: from `sample_noise`.
        """
        ...

    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward, float32 `[B]`."""
        ...

    def feature_maps(self, observation: Tensor, action: Tensor) -> dict[str, Tensor]:
        """The maps `[B, C, H, W]` before and after each event layer, by name; empty for a model without any."""
        ...

    def observe(self, batch: Transitions) -> None:
        """Take note of real transitions; each is given once, after the fit and before the next draw.

        For a posterior that depends on what has been seen; others ignore it.
        """
        ...

    def observe_dreamt(self, batch: Transitions) -> None:
        """Take note of steps that this model has dreamt along the actions of real games, after `observe`.

        What they show beside the game is the model's own error: for a posterior that would take it for unknown; others
        ignore it.
        """
        ...

    def use_statistics(self, statistics: Statistics) -> None:
        """Take note of what holds in all experience so far; called before each fit."""
        ...


class Fitter(Savable, Protocol):
    """Fits one world model."""

    def update(self, batch: Transitions) -> dict[str, Tensor]:
        """Make one update on a batch and return named scalars about it."""
        ...


@runtime_checkable
class SequenceFitter(Protocol):
    """A fitter that is given several steps in a row instead, if it has this method."""

    def update_on_sequences(self, batch: Sequences) -> dict[str, Tensor]:
        """Make one update on a batch and return named scalars about it."""
        ...


class Policy(Network, Protocol):
    """Chooses actions and values observations."""

    num_frames: int
    """How many of an observation's last frames it sees; rollouts keep no more."""

    def __call__(self, observation: Tensor) -> PolicyOutput:
        """Uint8 `[B, K, C, H, W]` to logits `[B, A]` and value `[B]`."""
        ...


class PolicyLearner(Savable, Protocol):
    """Improves one policy."""

    def improve(self, rollout: Rollout, generator: torch.Generator) -> dict[str, Tensor]:
        """Learn from one rollout and return named scalars about it.

        Args:
            rollout: `[T, N]` steps.
            generator: on the rollout's device.
        """
        ...


class Environment(Protocol):
    """N games that step together: real ones or dreams; a policy cannot tell which.

    A game that ends goes on with another one within the same step.
    """

    num_envs: int

    def reset(self) -> Tensor:
        """Begin all games; gives the observations, uint8 `[N, K, C, H, W]`."""
        ...

    def step(self, action: Tensor) -> EnvStep:
        """Play one action in each game, int64 `[N]`."""
        ...
