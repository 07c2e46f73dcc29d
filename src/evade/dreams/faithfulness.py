"""How far dreams can be trusted: game and dream from the same start states."""

from typing import NamedTuple

import torch
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.interfaces import Policy, WorldModel
from evade.policies.rollout import roll_out
from evade.records import Segments


class Faithfulness(NamedTuple):
    """Means over B start states and T steps; scalars."""

    game_return: Tensor
    """Clipped reward collected in the game."""
    dream_return: Tensor
    """Clipped reward the policy collects in dreams from the same states. Far above the game's: it exploits the model."""
    divergence_step: Tensor
    """Steps until the dream, given the game's actions, first shows another frame, reward or end; dreams that never
    diverge count with all their steps."""


@torch.no_grad()
def measure_faithfulness(
    model: WorldModel,
    policy: Policy,
    segments: Segments,
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    sticky_probability: float = 0.0,
) -> Faithfulness:
    """Compare dreams with what really happened.

    Args:
        model: in evaluation mode, with the draw to be measured.
        policy: the one that played the segments.
        segments: on the model's device, at least one; preferably ones the model was not fitted to.
        generator: on the same device.
        temperature: at which the segments were played, and the dreams are.
        sticky_probability: of the dreams the policy plays. Given the game's actions, none is repeated: a game with
            sticky actions then diverges from the dream where it repeats one.
    """
    num_starts, starts = len(segments.observation), segments.observation.repeat(2, 1, 1, 1, 1)
    dream = DreamEnv(model, num_starts, lambda _: starts, sticky_probability=sticky_probability, generator=generator)
    rollout = roll_out(policy, dream, len(segments.action), generator, temperature)
    ended_before = rollout.terminated.long().cumsum(0) - rollout.terminated.long() > 0
    return Faithfulness(
        game_return=segments.reward.sum(0).mean(),
        dream_return=(rollout.reward * ~ended_before).sum(0).mean(),
        divergence_step=_count_equal_steps(
            DreamEnv(model, num_starts, lambda _: starts, generator=generator), segments
        ).mean(),
    )


def _count_equal_steps(dream: DreamEnv, segments: Segments) -> Tensor:
    """For how many steps the dream, given the game's own actions, equals the game: float32 `[B]`."""
    dream.reset()
    together = torch.ones_like(segments.happened[0])
    count = torch.zeros(len(together), device=together.device)
    for action, frame, reward, terminated, happened in zip(*segments[1:], strict=True):
        step = dream.step(action)
        # Where both games end the dream shows its next start already, so the last picture cannot be compared.
        same_frame = (step.observation[:, -1] == frame).flatten(1).all(1) | terminated
        together &= same_frame & (step.reward.round() == reward) & (step.terminated == terminated) | ~happened
        count += together & happened
    return count
