"""The policy network and how PPO improves it."""

from evade.policies.advantages import Advantages, compute_advantages, normalise
from evade.policies.network import ActorCritic, PolicyOutput, build_policy
from evade.policies.ppo import (
    Minibatch,
    build_policy_optimiser,
    compute_ppo_loss,
    improve,
    minibatch_times,
    ppo_update,
)

__all__ = [
    "ActorCritic",
    "Advantages",
    "Minibatch",
    "PolicyOutput",
    "build_policy",
    "build_policy_optimiser",
    "compute_advantages",
    "compute_ppo_loss",
    "improve",
    "minibatch_times",
    "normalise",
    "ppo_update",
]
