"""The dream: a world model and start states are an environment like any other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from evade.interfaces import WorldModel
from evade.records import EnvStep, Memory, Noise


@dataclass(frozen=True)
class DreamStep:
    """One step of all dreams as a function of fixed shapes, to be compiled as a whole; equal for the same model."""

    model: WorldModel

    def __call__(
        self, observation: Tensor, second: Tensor, action: Tensor, memory: Memory, noise: Noise
    ) -> tuple[Tensor, Tensor, Tensor, Memory]:
        """Step N dreams; one that ends goes on from its second start.

        Args:
            observation: uint8 `[N, K, C, H, W]`.
            second: uint8 `[N, K, C, H, W]`, second starts.
            action: int64 `[N]`.
            memory: of the step before.
            noise: random numbers of this step.

        Returns:
            The next observation, reward `[N]`, end `[N]` and memory.
        """
        frame, reward, terminated, moved_memory = self.model.predict(observation, action, memory, noise)
        moved = torch.cat([observation[:, 1:], frame.unsqueeze(1)], dim=1)
        # All bits of the second start where a dream has ended. `torch.where` says it more plainly, but on bytes its
        # compiled form takes a quarter of the whole step.
        ended = (terminated.to(torch.uint8) * 255)[:, None, None, None, None]
        fresh = self.model.initial_memory(len(action))
        kept = tuple(_where(terminated, first, moved) for first, moved in zip(fresh, moved_memory, strict=True))
        return moved ^ ((moved ^ second) & ended), reward, terminated, kept


def _where(chosen: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Rows of `one` where chosen `[N]`, else of `other`, both `[N, ...]`."""
    return torch.where(chosen.view(-1, *(1,) * (one.dim() - 1)), one, other)


class DreamEnv:
    """N imagined games that step together on the world model's device; nothing is read on the host.

    A dreamt game that ends goes on from a second start state, drawn with the first. Dreams are not cut off: how long
    to trust them is the rollout's length.

    Args:
        model: in evaluation mode, with one draw held (Algorithm 1) or the mean in use.
        num_envs: N.
        starts: gives a number of start observations, uint8 `[count, K, C, H, W]`; asked for 2 N at each reset.
        compiler: makes the step fast (`evade.runtime.compilation.Compiler`); by default it is not compiled.
        sticky_probability: chance that the previous action is repeated instead, as in games with sticky actions. The
            model knows only what an action leads to; the dream decides whether it is repeated.
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
        self._second = torch.empty(0)
        self._memory: Memory = ()

    def reset(self) -> Tensor:
        """Start N new dreams."""
        self._observation, self._second = self._starts(2 * self.num_envs).split(self.num_envs)  # type: ignore[no-untyped-call]
        self._previous_action = None
        self._memory = self._model.initial_memory(self.num_envs)
        return self._observation

    def step(self, action: Tensor) -> EnvStep:
        """The model's next frame, reward and end for each dream."""
        action = self._taken(action)
        noise = self._model.sample_noise(self.num_envs, self._generator)
        self._observation, reward, terminated, self._memory = self._step(
            self._observation, self._second, action, self._memory, noise
        )
        return EnvStep(self._observation, reward, terminated, torch.zeros_like(terminated), None)

    def _taken(self, action: Tensor) -> Tensor:
        """The actions that happen, int64 `[N]`: those chosen, or for some the ones before."""
        if self._sticky_probability > 0:
            if self._previous_action is not None:
                chance = torch.rand(action.shape, generator=self._generator, device=action.device)
                action = torch.where(chance < self._sticky_probability, self._previous_action, action)
            self._previous_action = action
        return action
