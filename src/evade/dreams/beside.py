"""Dreams that follow the actions of real games."""

from collections.abc import Iterator

import torch
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.interfaces import WorldModel
from evade.records import Segments, Transitions


@torch.no_grad()
def dream_along(model: WorldModel, segments: Segments, generator: torch.Generator) -> Iterator[Transitions]:
    """Dream from the starts of segments of real games with the actions that were taken there.

    Args:
        model: in evaluation mode, with a draw held or the mean in use.
        segments: on the model's device, at least one.
        generator: on the same device.

    Yields:
        For each step the dreams that go on, in the dream and in the game, after it; there may be none.
    """
    starts = segments.observation.repeat(2, 1, 1, 1, 1)
    dream = DreamEnv(model, len(segments.observation), lambda _: starts, generator=generator)
    observation = dream.reset()
    goes_on = torch.ones(dream.num_envs, dtype=torch.bool, device=observation.device)
    for action, happened in zip(segments.action, segments.happened, strict=True):
        step = dream.step(action)
        goes_on &= happened & ~step.terminated
        fields: tuple[Tensor, ...] = (observation, action, step.observation[:, -1], step.reward, step.terminated)
        yield Transitions(*(field[goes_on] for field in fields))
        observation = step.observation
