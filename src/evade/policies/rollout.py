"""Rollouts: act in any environment for a number of steps, and record what a learner needs."""

from collections.abc import Callable

import torch
from torch import Tensor

from evade.interfaces import Environment, Policy
from evade.policies.acting import act
from evade.records import Rollout


@torch.no_grad()
def roll_out(
    policy: Policy,
    env: Environment,
    num_steps: int,
    generator: torch.Generator,
    temperature: float | Tensor = 1.0,
    on_step: Callable[[int], None] = lambda done: None,
) -> Rollout:
    """Reset all games and play them for `num_steps`, sampling actions from the policy.

    The loop never waits for the device: buffers are allocated once, and no tensor is read on the host.

    Args:
        policy: only the frames it uses (`num_frames`) are recorded.
        env: N games or dreams.
        num_steps: T.
        generator: on the observations' device.
        temperature: as in `act`.
        on_step: called after each step with the number of steps so far, summed over all games.

    Returns:
        `[T, N]` steps. Log-probabilities include the temperature, so that PPO's ratios are right at any temperature.
    """
    kept = slice(-policy.num_frames, None)
    observation = env.reset()[:, kept]
    shape, device = (num_steps, env.num_envs), observation.device
    observations = torch.empty((num_steps, *observation.shape), dtype=torch.uint8, device=device)
    action = torch.empty(shape, dtype=torch.long, device=device)
    log_prob, value, next_value, reward = (torch.empty(shape, device=device) for _ in range(4))
    terminated, truncated = (torch.empty(shape, dtype=torch.bool, device=device) for _ in range(2))
    for t in range(num_steps):
        observations[t] = observation
        action[t], log_prob[t], value[t] = decision = act(policy, observation, temperature, generator)
        if t > 0:
            next_value[t - 1] = _unless_cut_off(next_value[t - 1], decision.value, truncated[t - 1])
        step = env.step(decision.action)
        reward[t], terminated[t], truncated[t] = step.reward, step.terminated, step.truncated
        if step.final_observation is not None:
            next_value[t] = policy(step.final_observation[:, kept]).value
        observation = step.observation[:, kept]
        on_step((t + 1) * env.num_envs)
    last = policy(observation).value
    next_value[-1] = _unless_cut_off(next_value[-1], last, truncated[-1])
    return Rollout(observations, action, log_prob, value, next_value, reward, terminated, truncated)


def _unless_cut_off(kept: Tensor, following: Tensor, truncated: Tensor) -> Tensor:
    """The next observation's value; for truncated games that of their final observation, computed before."""
    return torch.where(truncated, kept, following)


def slice_rollout(rollout: Rollout, num_slices: int) -> Rollout:
    """Split each game's T steps into `num_slices` shorter games: `[T, N]` to `[T / slices, N * slices]`.

    Each of them is bootstrapped from its own `next_value`; only advantages across the cuts are lost.
    """
    return Rollout(
        *(
            field.reshape(num_slices, -1, *field.shape[1:]).transpose(0, 1).flatten(1, 2).contiguous()
            for field in rollout
        )
    )
