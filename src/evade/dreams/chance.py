"""Comparison of dreams with a game of chance: not step by step, but by how often things happen."""

import torch
from torch import Tensor

from evade.interfaces import Policy
from evade.records import Rollout, Segments

HORIZONS = (1, 5, 10, 20)
"""Steps from the start over which rewards are averaged."""

EVENTS = ("appear", "vanish", "multiply")
"""What can happen to the objects of a channel in one step: none to some, some to none, some to more."""


@torch.no_grad()
def measure_chance(
    policy: Policy, segments: Segments, rollout: Rollout, discount: float, *, has_objects: bool
) -> dict[str, Tensor]:
    """How often things happen in the game and in dreams from the same starts; scalars by name.

    `game_reward` and `dream_reward` are means per step, over all steps and (`.../H`) over the first H. `value_claim` is
    what the policy's value says the game will pay within the segment, `value_return` what it paid, both discounted.
    With objects also `game_appear`, `dream_appear` and so on: in what share of the steps it happens in a channel, the
    mean over channels and (`.../C`) in channel C.

    Args:
        policy: the one that played the segments.
        segments: `[T, B]` steps of the game, on the policy's device.
        rollout: `[T, B]` steps of the policy's dreams from the same starts.
        discount: of the value.
        has_objects: whether frames are grids of objects, cells on or off.
    """
    is_dreamt = _not_ended_before(rollout.terminated)
    measured = _rewards("game", segments.reward) | _rewards("dream", rollout.reward * is_dreamt)
    measured |= _value(policy, segments, rollout.value[0], discount)
    if has_objects and len(segments.frame) > 1:
        game = torch.cat([segments.observation[None, :, -1], segments.frame[:-1]])
        goes_on = segments.happened & ~segments.terminated
        measured |= _count_events("game", game, goes_on[:-1])
        measured |= _count_events("dream", rollout.observation[:, :, -1], (is_dreamt & ~rollout.terminated)[:-1])
    return measured


def _not_ended_before(terminated: Tensor) -> Tensor:
    """Whether each step belongs to the first dream, its end included: bool `[T, B]`."""
    return terminated.long().cumsum(0) - terminated.long() == 0


def _rewards(where: str, reward: Tensor) -> dict[str, Tensor]:
    """Reward per step, `[T, B]` to means by horizon."""
    horizons = [horizon for horizon in HORIZONS if horizon <= len(reward)]
    by_horizon = {f"{where}_reward/{horizon}": reward[:horizon].mean() for horizon in horizons}
    return {f"{where}_reward": reward.mean()} | by_horizon


def _value(policy: Policy, segments: Segments, first_value: Tensor, discount: float) -> dict[str, Tensor]:
    frames = torch.cat([segments.observation, segments.frame.transpose(0, 1)], 1)
    last = policy(frames[:, -segments.observation.shape[1] :][:, -policy.num_frames :]).value
    is_on = segments.happened[-1] & ~segments.terminated[-1]
    num_steps = len(segments.reward)
    weight = discount ** torch.arange(num_steps, device=last.device)
    return {
        "value_claim": (first_value - discount**num_steps * last * is_on).mean(),
        "value_return": (segments.reward * weight.unsqueeze(1)).sum(0).mean(),
    }


def _count_events(where: str, frame: Tensor, is_valid: Tensor) -> dict[str, Tensor]:
    """How often each event happens in each channel, per step.

    Args:
        where: `game` or `dream`.
        frame: `[T, B, C, H, W]`, cells 0 or 1.
        is_valid: bool `[T - 1, B]`, the steps that count.
    """
    count = frame.flatten(3).sum(3, dtype=torch.long)
    before, after = count[:-1], count[1:]
    happened = ((before == 0) & (after > 0), (before > 0) & (after == 0), (before > 0) & (after > before))
    measured = {}
    for event, is_event in zip(EVENTS, happened, strict=True):
        by_channel = (is_event & is_valid.unsqueeze(2)).sum((0, 1)) / is_valid.sum().clamp_min(1)
        measured[f"{where}_{event}"] = by_channel.mean()
        measured |= {f"{where}_{event}/{channel}": share for channel, share in enumerate(by_channel)}
    return measured
