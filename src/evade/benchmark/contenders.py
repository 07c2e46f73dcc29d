"""The ways of computing that are compared, and the one place where each is switched on."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import nn

from evade.benchmark.plain import PlainPolicy, PlainWorldModel
from evade.config import GameSpec, RunConfig
from evade.interfaces import WorldModel
from evade.policies import build_policy_optimiser
from evade.policies.acting import Policy
from evade.runtime.compilation import Compiler
from evade.training.assemble import build_networks
from evade.world_models import build_world_model_optimiser

Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Contender:
    """One way of computing the same steps."""

    name: str
    precision: Precision
    is_compiled: bool = False
    is_plain: bool = False
    is_preset: bool = False
    """Both networks keep the preset's own precisions; `precision` is then that of most of the work."""


PLAIN = Contender("plain", "float32", is_plain=True)
FLOAT32 = Contender("float32", "float32")
BFLOAT16 = Contender("bfloat16", "bfloat16")
FLOAT32_COMPILED = Contender("float32 compiled", "float32", is_compiled=True)
PRESET_COMPILED = Contender("as in the preset", "float32", is_compiled=True, is_preset=True)
BFLOAT16_COMPILED = Contender("bfloat16 compiled", "bfloat16", is_compiled=True)


class Contestant(NamedTuple):
    """A contender's networks, ready to be timed."""

    network: nn.Module
    """The module that owns the world model's weights and modes."""
    model: WorldModel
    """How the world model is called."""
    model_optimiser: torch.optim.Optimizer
    policy: Policy
    """How the policy is called."""
    policy_optimiser: torch.optim.Optimizer
    compiler: Compiler
    """For the dream step."""


def build_contestant(contender: Contender, config: RunConfig, game: GameSpec) -> Contestant:
    """Fresh networks by the run's own builders, the same weights for every contender."""
    if not contender.is_preset:
        config = replace(
            config,
            world_model=replace(config.world_model, precision=contender.precision),
            policy=replace(config.policy, precision=contender.precision),
        )
    policy, model = build_networks(config, game)
    if contender.is_plain:
        plain_model, plain_policy = PlainWorldModel(model), PlainPolicy(policy)
        return Contestant(
            plain_model,
            plain_model,
            build_world_model_optimiser(plain_model.network),
            plain_policy,
            build_policy_optimiser(plain_policy.network, config.policy),
            Compiler(False),
        )
    return Contestant(
        model,
        model,
        build_world_model_optimiser(model),
        policy,
        build_policy_optimiser(policy, config.policy),
        Compiler(contender.is_compiled),
    )
