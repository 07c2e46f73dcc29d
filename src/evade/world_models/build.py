"""The one place where settings and a game become a world model and its optimiser."""

from evade.config import GameSpec, WorldModelConfig
from evade.optimisers import Adafactor, warmup_rsqrt
from evade.world_models.deterministic import DeterministicWorldModel


def build_world_model(config: WorldModelConfig, game: GameSpec) -> DeterministicWorldModel:
    """A new world model for a game, weights from torch's global generator."""
    return DeterministicWorldModel(
        config,
        channels=game.channels,
        levels=game.levels,
        num_actions=game.num_actions,
        lowest_reward=game.lowest_reward,
        num_reward_classes=game.num_reward_classes,
    )


def build_world_model_optimiser(model: DeterministicWorldModel) -> Adafactor:
    """The original's Adafactor with the model's own schedule."""
    config = model.config
    return Adafactor(model.parameters(), warmup_rsqrt(config.learning_rate, config.warmup_updates))
