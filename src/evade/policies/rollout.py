"""Acting in any environment for a number of steps, and keeping what PPO needs."""

import torch
from torch import Tensor

from evade.interfaces import Environment
from evade.policies.acting import Policy, choose_action
from evade.records import Rollout


@torch.no_grad()
def roll_out(
    policy: Policy,
    env: Environment,
    num_steps: int,
    generator: torch.Generator,
    num_frames: int | None = None,
    temperature: float = 1.0,
) -> Rollout:
    """Begin all games and play them for `num_steps`, sampling from the policy.

    Nothing in the loop waits for the device: buffers are made once, and no tensor is read on the host.

    Args:
        policy: acts and values.
        env: N games or dreams.
        num_steps: T.
        generator: on the observations' device.
        num_frames: how many of an observation's last frames the policy is shown, and are kept; None for all.
        temperature: probabilities are taken to the power 1 / temperature; above 1 it acts more at random.

    Returns:
        `[T, N]` steps; the last one is closed by the value of where it led. Log-probabilities are those the actions
        were drawn with, so that PPO's ratios are right at any temperature.
    """
    kept = slice(-num_frames if num_frames else None, None)
    observation = env.reset()[:, kept]
    shape, device = (num_steps, env.num_envs), observation.device
    observations = torch.empty((num_steps, *observation.shape), dtype=torch.uint8, device=device)
    action = torch.empty(shape, dtype=torch.long, device=device)
    log_prob, value, next_value, reward = (torch.empty(shape, device=device) for _ in range(4))
    terminated, truncated = (torch.empty(shape, dtype=torch.bool, device=device) for _ in range(2))
    for t in range(num_steps):
        observations[t] = observation
        output = policy(observation)
        chosen = choose_action(output.logits, temperature, generator)
        action[t] = chosen
        log_prob[t] = torch.log_softmax(output.logits / temperature, -1).gather(1, chosen.unsqueeze(1)).squeeze(1)
        value[t] = output.value
        if t > 0:
            next_value[t - 1] = _unless_cut_off(next_value[t - 1], output.value, truncated[t - 1])
        step = env.step(chosen)
        reward[t], terminated[t], truncated[t] = step.reward, step.terminated, step.truncated
        if step.final_observation is not None:
            next_value[t] = policy(step.final_observation[:, kept]).value
        observation = step.observation[:, kept]
    last = policy(observation).value
    next_value[-1] = _unless_cut_off(next_value[-1], last, truncated[-1])
    return Rollout(observations, action, log_prob, value, next_value, reward, terminated, truncated)


def _unless_cut_off(kept: Tensor, following: Tensor, truncated: Tensor) -> Tensor:
    """The next observation's value, but for games that were cut off, whose last observation has been valued."""
    return torch.where(truncated, kept, following)


def slice_rollout(rollout: Rollout, num_slices: int) -> Rollout:
    """Cut each game's T steps into `num_slices` pieces that count as games: `[T, N]` to `[T / slices, N * slices]`.

    Every piece is closed by its own `next_value`, so nothing is lost but advantages across the cuts.
    """
    return Rollout(
        *(
            field.reshape(num_slices, -1, *field.shape[1:]).transpose(0, 1).flatten(1, 2).contiguous()
            for field in rollout
        )
    )
