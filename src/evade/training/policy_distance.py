"""Do different draws lead to different policies? Policies trained under different draws, compared."""

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor

from evade.config import RunConfig
from evade.dreams.env import DreamEnv
from evade.interfaces import Policy, WorldModel
from evade.layers import Draw, hold, use_mean
from evade.policies.build import build_learner
from evade.policies.rollout import roll_out
from evade.replay.store import Replay
from evade.seeding import build_generator
from evade.training.posterior import (
    compare_policies,
    disagreement,
    dream_steps,
    expected_rewards,
    rewards_under_draws,
    sample_draws,
)

CPU = torch.device("cpu")


class PolicyDistance(NamedTuple):
    """What draws do to a run's policy, on steps of its own dreams."""

    disagreement: float
    """As the metric `posterior/disagreement`, in points."""
    between_draws: float
    """Mean total variation distance between policies trained under two draws, 0 to 1."""
    between_seeds: float
    """The same for two policies trained under one draw with other random numbers: what chance alone does."""


def measure_policy_distance(
    config: RunConfig, model: WorldModel, policy: Policy, replay: Replay, *, num_batches: int, num_draws: int, seed: int
) -> PolicyDistance:
    """Train copies of a policy for a few dream batches under two draws, and under one draw twice.

    Args:
        config: of the run.
        model: in evaluation mode; its draw comes back.
        policy: copied, not changed.
        replay: where dreams start.
        num_batches: dream batches of each copy.
        num_draws: draws asked for the disagreement.
        seed: of draws and dreams.
    """
    draws = sample_draws(model, max(num_draws, 2), build_generator(CPU, seed, "draws", 0))
    first, steps = _train(config, model, policy, replay, draws[0], num_batches, seed)
    second, _ = _train(config, model, policy, replay, draws[1], num_batches, seed)
    again, _ = _train(config, model, policy, replay, draws[0], num_batches, seed + 1)
    rewards = rewards_under_draws(model, draws, *steps)
    with use_mean(model):
        mean = expected_rewards(model, *steps)
    return PolicyDistance(
        disagreement=disagreement(rewards, mean).item(),
        between_draws=compare_policies(first, second, steps[0]),
        between_seeds=compare_policies(first, again, steps[0]),
    )


def _train(
    config: RunConfig, model: WorldModel, policy: Policy, replay: Replay, value: Draw, num_batches: int, seed: int
) -> tuple[Policy, tuple[Tensor, Tensor]]:
    """A copy of the policy trained under a draw, and the observations and actions of its first dreams."""
    trained = deepcopy(policy)
    learner = build_learner(config.learner, trained)
    generator, host = (build_generator(CPU, seed, purpose, 0) for purpose in ("dreams", "starts"))

    def starts(count: int) -> Tensor:
        return replay.starts(count, host, newest=False, by="frame")

    with hold(model, value):
        env = DreamEnv(model, config.dream.num_envs, starts, generator=generator)
        seen = dream_steps(trained, env, config.dream.horizon, generator)
        for _ in range(num_batches):
            learner.improve(roll_out(trained, env, config.dream.horizon, generator), generator)
    return trained, seen
