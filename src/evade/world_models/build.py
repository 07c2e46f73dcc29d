"""Builds world models and their fitters; the only module that knows the kinds of world models."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from evade.game_spec import GameSpec
from evade.interfaces import Fitter, WorldModel
from evade.kinds import find_builder
from evade.optimisers import Adafactor, TensorFlowAdam, warmup_constant, warmup_rsqrt
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.fit import GradientFitter, KernelPrior, SequenceGradientFitter
from evade.world_models.grid_network import GridNetwork
from evade.world_models.settings import DeterministicConfig, FitConfig, StochasticDiscreteConfig, WorldModelConfig
from evade.world_models.stochastic import StochasticDiscreteWorldModel


class Builders(NamedTuple):
    """How one kind of world model is built."""

    build_model: Callable[[Any, GameSpec, int], WorldModel]
    """From its settings, a game and the number of frames in an observation; weights from torch's global generator."""
    build_fitter: Callable[[Any, Any], Fitter]
    """From its settings and the model."""


_BUILDERS: dict[type[WorldModelConfig], Builders] = {}


def register_world_model(
    settings: type[WorldModelConfig],
    build_model: Callable[[Any, GameSpec, int], WorldModel],
    build_fitter: Callable[[Any, Any], Fitter],
) -> None:
    """Register a kind of world model, from inside or outside this package.

    Args:
        settings: its settings class, a frozen dataclass that subclasses `WorldModelConfig` with a `kind`.
        build_model: from settings, game and number of stacked frames to a new model.
        build_fitter: from settings and model to its fitter.
    """
    _BUILDERS[settings] = Builders(build_model, build_fitter)


def build_world_model(config: WorldModelConfig, game: GameSpec, num_frames: int) -> WorldModel:
    """A new world model for a game and observations of K frames, weights from torch's global generator."""
    return _find(config).build_model(config, game, num_frames)


def build_fitter(config: WorldModelConfig, model: WorldModel) -> Fitter:
    """A new fitter for a model of these settings."""
    return _find(config).build_fitter(config, model)


def _find(config: WorldModelConfig) -> Builders:
    return find_builder(_BUILDERS, config, "evade.world_models.build.register_world_model")


def build_deterministic(config: DeterministicConfig, game: GameSpec, num_frames: int) -> DeterministicWorldModel:
    """A new deterministic model."""
    return DeterministicWorldModel(config, num_frames=num_frames, **_sizes(game))


def build_deterministic_fitter(
    config: DeterministicConfig, model: DeterministicWorldModel
) -> GradientFitter[DeterministicWorldModel]:
    """A fitter with T2T SimPLe's Adafactor and its learning-rate schedule, or with Adam."""
    return GradientFitter(model, *_descent(config.fit, model))


def build_stochastic_discrete(
    config: StochasticDiscreteConfig, game: GameSpec, num_frames: int
) -> StochasticDiscreteWorldModel:
    """A new stochastic discrete model."""
    height, width = (-(-size // 2**config.depth) for size in (game.height, game.width))
    return StochasticDiscreteWorldModel(config, num_frames=num_frames, bottleneck_cells=height * width, **_sizes(game))


def build_stochastic_discrete_fitter(
    config: StochasticDiscreteConfig, model: StochasticDiscreteWorldModel
) -> SequenceGradientFitter[StochasticDiscreteWorldModel]:
    """A fitter to sequences; otherwise as `build_deterministic_fitter`."""
    return SequenceGradientFitter(model, *_descent(config.fit, model))


def _sizes(game: GameSpec) -> dict[str, Any]:
    return {
        "channels": game.channels,
        "levels": game.levels,
        "num_actions": game.num_actions,
        "lowest_reward": game.lowest_reward,
        "num_reward_classes": game.num_reward_classes,
        "frame_size": (game.height, game.width),
    }


def _descent(fit: FitConfig, model: GridNetwork) -> tuple[torch.optim.Optimizer, float, KernelPrior | None]:
    """What a `GradientFitter` needs beside the model: the optimiser, the largest norm and the prior on kernels."""
    heads = model.local_heads
    if heads is None or fit.head_decay == 0:
        return _build_optimiser(fit, model), fit.max_gradient_norm, None
    prior = KernelPrior(fit.head_decay, heads.num_transitions)
    return _build_optimiser(fit, model, heads.kernels()), fit.max_gradient_norm, prior


def _build_optimiser(fit: FitConfig, model: nn.Module, decayed: Sequence[nn.Parameter] = ()) -> torch.optim.Optimizer:
    schedule = (warmup_rsqrt if fit.schedule == "rsqrt" else warmup_constant)(fit.learning_rate, fit.warmup_updates)
    if fit.optimiser == "adam":
        apart = set(map(id, decayed))
        groups: list[dict[str, Any]] = [{"params": [each for each in model.parameters() if id(each) not in apart]}]
        if decayed:
            groups.append({"params": list(decayed), "decay": fit.head_decay})
        return TensorFlowAdam(groups, schedule(0), schedule)
    return Adafactor(model.parameters(), schedule)


register_world_model(DeterministicConfig, build_deterministic, build_deterministic_fitter)
register_world_model(StochasticDiscreteConfig, build_stochastic_discrete, build_stochastic_discrete_fitter)
