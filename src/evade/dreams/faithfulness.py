"""How far dreams can be trusted: game and dream from the same start states."""

from typing import NamedTuple

import torch
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.interfaces import WorldModel
from evade.policies.acting import Policy
from evade.policies.rollout import roll_out
from evade.records import Stretches


class Faithfulness(NamedTuple):
    """Means over B start states and T steps; scalars."""

    real_return: Tensor
    """Clipped points the game gave."""
    dream_return: Tensor
    """Clipped points the policy gets in dreams from the same states. Far above: it exploits the model."""
    parting_step: Tensor
    """Steps after which the dream, given the game's actions, first shows another frame, reward or end; those that
    never part count with all their steps."""


@torch.no_grad()
def measure_faithfulness(
    model: WorldModel,
    policy: Policy,
    stretches: Stretches,
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    sticky_probability: float = 0.0,
) -> Faithfulness:
    """Hold dreams against what really happened.

    Args:
        model: in evaluation mode, with the draw to be judged.
        policy: the one that played the stretches.
        stretches: on the model's device, at least one; best ones the model was not fitted to.
        generator: on the same device.
        temperature: at which the stretches were played, and the dreams are.
        sticky_probability: of the dreams the policy plays. Given the game's actions, none is repeated: a game with
            sticky actions then parts from the dream where it repeats one.
    """
    num_starts, starts = len(stretches.observation), stretches.observation.repeat(2, 1, 1, 1, 1)
    dream = DreamEnv(model, num_starts, lambda _: starts, sticky_probability=sticky_probability, generator=generator)
    rollout = roll_out(policy, dream, len(stretches.action), generator, temperature=temperature)
    ended_before = rollout.terminated.long().cumsum(0) - rollout.terminated.long() > 0
    return Faithfulness(
        real_return=stretches.reward.sum(0).mean(),
        dream_return=(rollout.reward * ~ended_before).sum(0).mean(),
        parting_step=_steps_together(DreamEnv(model, num_starts, lambda _: starts), stretches).mean(),
    )


def _steps_together(dream: DreamEnv, stretches: Stretches) -> Tensor:
    """For how many steps the dream, given the game's own actions, is the game: float32 `[B]`."""
    dream.reset()
    together = torch.ones_like(stretches.happened[0])
    count = torch.zeros(len(together), device=together.device)
    for action, frame, reward, terminated, happened in zip(*stretches[1:], strict=True):
        step = dream.step(action)
        # Where both games end the dream shows its next start already, so the last picture cannot be compared.
        same_frame = (step.observation[:, -1] == frame).flatten(1).all(1) | terminated
        together &= same_frame & (step.reward.round() == reward) & (step.terminated == terminated) | ~happened
        count += together & happened
    return count
