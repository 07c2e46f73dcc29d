"""The ways of computing that are compared (precision, compilation, plain network), and how each is built."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch

from evade.benchmark.plain import PlainPolicy, PlainWorldModel
from evade.config import RunConfig
from evade.game_spec import GameSpec
from evade.interfaces import Fitter, Policy, PolicyLearner, WorldModel
from evade.policies.build import build_actor_critic, build_ppo
from evade.policies.settings import ActorCriticConfig, PPOConfig
from evade.runtime.compilation import Compiler
from evade.world_models.build import build_deterministic, build_deterministic_fitter
from evade.world_models.fit import GradientFitter
from evade.world_models.settings import DeterministicConfig

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Contender:
    """One way of computing the same steps."""

    name: str
    precision: Precision
    is_compiled: bool = False
    is_plain: bool = False
    is_preset: bool = False
    """Both networks keep the preset's precisions; `precision` is then that of most operations."""


PLAIN = Contender("plain", "float32", is_plain=True)
FLOAT32 = Contender("float32", "float32")
BFLOAT16 = Contender("bfloat16", "bfloat16")
FLOAT32_COMPILED = Contender("float32 compiled", "float32", is_compiled=True)
PRESET_COMPILED = Contender("as in the preset", "float32", is_compiled=True, is_preset=True)
BFLOAT16_COMPILED = Contender("bfloat16 compiled", "bfloat16", is_compiled=True)


class Contestant(NamedTuple):
    """A contender's networks, ready to be timed."""

    model: WorldModel
    fitter: Fitter
    policy: Policy
    learner: PolicyLearner
    compiler: Compiler
    """For the dream step."""


def build_contestant(contender: Contender, config: RunConfig, game: GameSpec) -> Contestant:
    """Build new networks with the run's builders; every contender gets the same weights.

    The plain contender implements the deterministic network and the actor-critic only, so other kinds are not compared.
    """
    model_config, policy_config, learner_config = config.world_model, config.policy, config.learner
    assert isinstance(model_config, DeterministicConfig)
    assert isinstance(policy_config, ActorCriticConfig)
    assert isinstance(learner_config, PPOConfig)
    if not contender.is_preset:
        model_config = replace(model_config, precision=contender.precision)
        policy_config = replace(policy_config, precision=contender.precision)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build_deterministic(model_config, game, config.env.num_frames)
        policy = build_actor_critic(policy_config, game, config.env.num_frames)
    if not contender.is_plain:
        fitter = build_deterministic_fitter(model_config, model)
        return Contestant(model, fitter, policy, build_ppo(learner_config, policy), Compiler(contender.is_compiled))
    plain_model, plain_policy = PlainWorldModel(model), PlainPolicy(policy)
    optimiser = build_deterministic_fitter(model_config, plain_model.network).optimiser
    plain_fitter = GradientFitter(plain_model, optimiser, model_config.fit.max_gradient_norm)
    return Contestant(plain_model, plain_fitter, plain_policy, build_ppo(learner_config, plain_policy), Compiler(False))
