"""The dream: a world model and start observations as an `interfaces.Environment`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from evade.interfaces import WorldModel
from evade.records import EnvStep, Memory, Noise, Prediction


@dataclass(frozen=True)
class DreamStep:
    """One step of all dreams as a function of tensors of fixed shapes, so that it can be compiled.

    Equal (and of the same hash) for the same model, so that a `Compiler` compiles it once.
    """

    model: WorldModel

    def __call__(self, observation: Tensor, action: Tensor, memory: Memory, fresh: Memory, noise: Noise) -> Prediction:
        """The next step of N dreams; the memory of those that end is fresh.

        Args:
            observation: uint8 `[N, K, C, H, W]`.
            action: int64 `[N]`.
            memory: from the previous step.
            fresh: of the observation that an ended dream continues from.
            noise: of this step.
        """
        prediction = self.model.predict(observation, action, memory, noise)
        pairs = zip(fresh, prediction.memory, strict=True)
        return prediction._replace(memory=tuple(_select(prediction.terminated, new, old) for new, old in pairs))


def _select(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Rows of `one` where `condition` `[N]` holds, otherwise of `other`, both `[N, ...]`."""
    return torch.where(condition.view(-1, *(1,) * (one.dim() - 1)), one, other)


def _select_bytes(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """`_select` for contiguous bytes, eight or four at a time if a row can be split so: much faster on a CPU."""
    rows = one.flatten(1), other.flatten(1)
    for group in (torch.int64, torch.int32):
        if rows[0].shape[1] % group.itemsize == 0:
            return _select(condition, rows[0].view(group), rows[1].view(group)).view(torch.uint8).view_as(one)
    return _select(condition, one, other)


class DreamEnv:
    """N dreams that step together on the world model's device; no tensor is read on the host.

    A dream that ends continues from a second start observation, sampled at the reset. Dreams are never truncated: the
    length of the rollout is the horizon.

    Args:
        model: in evaluation mode, with one draw held (Algorithm 1) or the mean in use.
        num_envs: N.
        starts: returns `count` start observations, uint8 `[count, K, C, H, W]`; called with 2 N at each reset.
        compiler: compiles the step (`evade.runtime.compilation.Compiler`); by default it is not compiled.
        sticky_probability: probability of repeating the previous action, for games with sticky actions. The model
            predicts the effect of an action; the dream decides whether it is repeated.
        generator: on the model's device, for sticky actions and for models that sample; torch's global one if None.
    """

    def __init__(
        self,
        model: WorldModel,
        num_envs: int,
        starts: Callable[[int], Tensor],
        *,
        compiler: Callable[[Any], Any] = lambda work: work,
        sticky_probability: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        self.num_envs = num_envs
        self._step: DreamStep = compiler(DreamStep(model))
        self._starts = starts
        self._sticky_probability, self._generator = sticky_probability, generator
        self._previous_action: Tensor | None = None
        self._model = model
        self._observation = torch.empty(0)
        self._restart = torch.empty(0)
        self._memory: Memory = ()
        self._fresh_memory: Memory = ()

    def reset(self) -> Tensor:
        """Start N new dreams."""
        starts = self._starts(2 * self.num_envs)
        self._observation, self._restart = starts[: self.num_envs], starts[self.num_envs :]
        self._previous_action = None
        self._memory, self._fresh_memory = map(self._model.initial_memory, (self._observation, self._restart))
        return self._observation

    def step(self, action: Tensor) -> EnvStep:
        """Predict the next frame, reward and end of each dream."""
        action = self._apply_stickiness(action)
        noise = self._model.sample_noise(self.num_envs, self._generator)
        frame, reward, terminated, self._memory = self._step(
            self._observation, action, self._memory, self._fresh_memory, noise
        )
        # Not compiled: code made for a CPU handles bytes in small groups.
        shifted = torch.cat([self._observation[:, 1:], frame.unsqueeze(1)], dim=1)
        self._observation = _select_bytes(terminated, self._restart, shifted)
        return EnvStep(self._observation, reward, terminated, torch.zeros_like(terminated), None)

    def _apply_stickiness(self, action: Tensor) -> Tensor:
        """The actions that take effect, int64 `[N]`: the chosen ones, some replaced by the previous ones."""
        if self._sticky_probability > 0:
            if self._previous_action is not None:
                sample = torch.rand(action.shape, generator=self._generator, device=action.device)
                action = torch.where(sample < self._sticky_probability, self._previous_action, action)
            self._previous_action = action
        return action
