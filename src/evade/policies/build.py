"""Builds policies and learners; the only module that knows their kinds."""

import math
from collections.abc import Callable
from typing import Any

from evade.game_spec import GameSpec
from evade.interfaces import Policy, PolicyLearner
from evade.kinds import KindSettings, find_builder
from evade.optimisers import TensorFlowAdam
from evade.policies.network import ActorCritic
from evade.policies.ppo import PPO
from evade.policies.settings import ActorCriticConfig, LearnerConfig, PolicyConfig, PPOConfig

_POLICIES: dict[type[KindSettings], Callable[[Any, GameSpec, int], Policy]] = {}
_LEARNERS: dict[type[KindSettings], Callable[[Any, Any], PolicyLearner]] = {}


def register_policy(settings: type[PolicyConfig], build: Callable[[Any, GameSpec, int], Policy]) -> None:
    """Register a kind of policy, from inside or outside this package.

    Args:
        settings: its settings class, a frozen dataclass that subclasses `PolicyConfig` with a `kind`.
        build: from settings, game and number of stacked frames to a new policy.
    """
    _POLICIES[settings] = build


def register_learner(settings: type[LearnerConfig], build: Callable[[Any, Any], PolicyLearner]) -> None:
    """Register a kind of learner, from inside or outside this package.

    Args:
        settings: its settings class, a frozen dataclass that subclasses `LearnerConfig` with a `kind`.
        build: from settings and the policy to improve to a new learner.
    """
    _LEARNERS[settings] = build


def build_policy(config: PolicyConfig, game: GameSpec, num_frames: int) -> Policy:
    """A new policy for a game and observations of K frames, weights from torch's global generator."""
    return find_builder(_POLICIES, config, "evade.policies.build.register_policy")(config, game, num_frames)


def build_learner(config: LearnerConfig, policy: Policy) -> PolicyLearner:
    """A new learner that improves the policy."""
    return find_builder(_LEARNERS, config, "evade.policies.build.register_learner")(config, policy)


def build_actor_critic(config: ActorCriticConfig, game: GameSpec, num_frames: int) -> ActorCritic:
    """A new actor-critic network."""
    height, width = game.height, game.width
    for _ in config.filters:
        height, width = math.ceil(height / config.stride), math.ceil(width / config.stride)
    frames = config.num_frames or num_frames
    return ActorCritic(
        config,
        num_frames=frames,
        in_channels=frames * game.channels,
        levels=game.levels,
        num_features=height * width * config.filters[-1],
        num_actions=game.num_actions,
    )


def build_ppo(config: PPOConfig, policy: Policy) -> PPO:
    """A PPO learner with T2T SimPLe's Adam."""
    return PPO(policy, TensorFlowAdam(policy.parameters(), config.learning_rate), config)


register_policy(ActorCriticConfig, build_actor_critic)
register_learner(PPOConfig, build_ppo)
