"""Proximal policy optimisation (PPO): the losses, one update, and the epochs over a rollout."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from evade.interfaces import Policy
from evade.optimisers import SavedOptimiser, update
from evade.policies.advantages import compute_advantages, normalise
from evade.policies.settings import PPOConfig
from evade.records import Loss, PolicyOutput, Rollout


class Minibatch(NamedTuple):
    """The data of one update; any leading axes, the same for all fields."""

    observation: Tensor
    """uint8 `[..., K, C, H, W]`."""
    action: Tensor
    """int64 `[...]`."""
    log_prob: Tensor
    """`[...]`, of the action under the policy that took it."""
    advantage: Tensor
    """`[...]`, normalised."""
    returns: Tensor
    """`[...]`, the value targets."""


def compute_ppo_loss(output: PolicyOutput, minibatch: Minibatch, config: PPOConfig) -> Loss:
    """Clipped policy loss, squared value error and entropy bonus, weighted by their coefficients.

    Args:
        output: the network's logits `[..., A]` and value `[...]` for the minibatch.
        minibatch: its observations are not used.
        config: clip range and coefficients.
    """
    log_probs = torch.log_softmax(output.logits, dim=-1)
    log_prob = log_probs.gather(-1, minibatch.action.unsqueeze(-1)).squeeze(-1)
    ratio = (log_prob - minibatch.log_prob).exp()
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    gain = torch.minimum(ratio * minibatch.advantage, clipped * minibatch.advantage)
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    policy_loss = -gain.mean()
    value_loss = config.value_coefficient * (output.value - minibatch.returns).square().mean()
    entropy_loss = -config.entropy_coefficient * entropy
    metrics = {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy_loss": entropy_loss,
        "entropy": entropy,
        "clipped_share": (ratio != clipped).float().mean(),
    }
    total = policy_loss + value_loss + entropy_loss
    return Loss(total, {name: metric.detach() for name, metric in metrics.items()})


def ppo_update(
    policy: Policy, optimiser: torch.optim.Optimizer, minibatch: Minibatch, config: PPOConfig
) -> dict[str, Tensor]:
    """Make one optimiser update on a minibatch.

    Returns:
        The metrics before the update, and the gradient's norm before clipping.
    """
    axes = minibatch.action.shape
    output = policy(minibatch.observation.flatten(0, len(axes) - 1))
    output = PolicyOutput(output.logits.view(*axes, -1), output.value.view(axes))
    loss = compute_ppo_loss(output, minibatch, config)
    gradient_norm = update(optimiser, loss.total, config.max_gradient_norm)
    return loss.metrics | {"gradient_norm": gradient_norm}


def minibatch_times(num_times: int, config: PPOConfig, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffled time indices of all epochs, split into full minibatches; an incomplete one at the end is dropped.

    A rollout of 49 steps with 3 epochs and minibatches of 20 gives 7 minibatches, as in T2T SimPLe.
    """
    size = config.minibatch_times
    config.check_rollout("the rollout's length", num_times)
    epochs = [torch.randperm(num_times, generator=generator, device=generator.device) for _ in range(config.epochs)]
    count = config.num_updates(num_times)
    yield from torch.cat(epochs)[: count * size].view(count, size).unbind(0)


def improve(
    policy: Policy,
    optimiser: torch.optim.Optimizer,
    rollout: Rollout,
    config: PPOConfig,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """PPO's epochs over one rollout; advantages are computed once and normalised over the whole rollout.

    Args:
        policy: improved in place.
        optimiser: of the policy's parameters.
        rollout: `[T, N]` steps.
        config: PPO's settings.
        generator: shuffles the time indices.

    Returns:
        The mean of each metric over the updates.
    """
    estimate = compute_advantages(
        rollout.reward,
        rollout.value,
        rollout.next_value,
        rollout.terminated,
        rollout.truncated,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
    )
    whole = Minibatch(
        rollout.observation,
        rollout.action,
        rollout.log_prob,
        normalise(estimate.advantage, config.advantage_floor),
        estimate.returns,
    )
    updates = []
    for times in minibatch_times(len(rollout.action), config, generator):
        chosen = times.to(rollout.action.device)
        # Not by `field[chosen]`, which copies bytes one by one: 20 times as long for observations.
        minibatch = Minibatch(*(field.index_select(0, chosen) for field in whole))
        updates.append(ppo_update(policy, optimiser, minibatch, config))
    return {name: torch.stack([update[name] for update in updates]).mean() for name in updates[0]}


class PPO(SavedOptimiser):
    """Improves one policy by PPO.

    Args:
        policy: improved in place.
        optimiser: of its parameters.
        config: PPO's settings.
    """

    def __init__(self, policy: Policy, optimiser: torch.optim.Optimizer, config: PPOConfig) -> None:
        super().__init__(optimiser)
        self.policy, self.config = policy, config

    def improve(self, rollout: Rollout, generator: torch.Generator) -> dict[str, Tensor]:
        """PPO's epochs over one rollout; returns the mean of each metric over the updates."""
        return improve(self.policy, self.optimiser, rollout, self.config, generator)
