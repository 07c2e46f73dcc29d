"""Comparison of dreams with the game, from the same start observations."""

from typing import NamedTuple

import torch
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.interfaces import Policy, WorldModel
from evade.policies.rollout import roll_out
from evade.records import Rollout, Segments


class Faithfulness(NamedTuple):
    """Scalars: means over B start observations, with T steps from each."""

    game_return: Tensor
    """Sum of the clipped rewards in the game."""
    dream_return: Tensor
    """Sum of the rewards in the policy's dreams from the same starts. Far above the game's: the policy exploits the
    model."""
    divergence_step: Tensor
    """Number of steps before the dream, given the game's actions, first differs in frame, reward or end; all steps if
    it never does."""


@torch.no_grad()
def dream_beside(
    model: WorldModel,
    policy: Policy,
    segments: Segments,
    generator: torch.Generator,
    *,
    temperature: float | Tensor = 1.0,
    sticky_probability: float = 0.0,
) -> Rollout:
    """The policy's dreams from the starts of segments of the game, as long as these; arguments as below."""
    num_starts, starts = len(segments.observation), segments.observation.repeat(2, 1, 1, 1, 1)
    dream = DreamEnv(model, num_starts, lambda _: starts, sticky_probability=sticky_probability, generator=generator)
    return roll_out(policy, dream, len(segments.action), generator, temperature)


@torch.no_grad()
def measure_faithfulness(
    model: WorldModel,
    policy: Policy,
    segments: Segments,
    generator: torch.Generator,
    *,
    temperature: float | Tensor = 1.0,
    sticky_probability: float = 0.0,
    rollout: Rollout | None = None,
) -> Faithfulness:
    """Compare dreams with segments of the real game.

    Args:
        model: in evaluation mode, with the draw to be measured.
        policy: the one that played the segments.
        segments: on the model's device, at least one; preferably ones the model was not fitted to.
        generator: on the same device.
        temperature: of the policy, in the segments and in the dreams.
        sticky_probability: for `dream_return` only. For `divergence_step` no action is repeated, so a game with sticky
            actions diverges from the dream where it repeats one.
        rollout: from `dream_beside`, if it has been made already.
    """
    if rollout is None:
        rollout = dream_beside(
            model, policy, segments, generator, temperature=temperature, sticky_probability=sticky_probability
        )
    num_starts, starts = len(segments.observation), segments.observation.repeat(2, 1, 1, 1, 1)
    ended_before = rollout.terminated.long().cumsum(0) - rollout.terminated.long() > 0
    return Faithfulness(
        game_return=segments.reward.sum(0).mean(),
        dream_return=(rollout.reward * ~ended_before).sum(0).mean(),
        divergence_step=_count_equal_steps(
            DreamEnv(model, num_starts, lambda _: starts, generator=generator), segments
        ).mean(),
    )


def _count_equal_steps(dream: DreamEnv, segments: Segments) -> Tensor:
    """Number of steps before the dream, given the game's actions, first differs from the game: float32 `[B]`."""
    dream.reset()
    is_equal = torch.ones_like(segments.happened[0])
    count = torch.zeros(len(is_equal), device=is_equal.device)
    for action, frame, reward, terminated, happened in zip(*segments[1:], strict=True):
        step = dream.step(action)
        # A dream that ends returns its restart observation, so the last frame of a game cannot be compared.
        same_frame = (step.observation[:, -1] == frame).flatten(1).all(1) | terminated
        is_equal &= same_frame & (step.reward.round() == reward) & (step.terminated == terminated) | ~happened
        count += is_equal & happened
    return count
