"""From settings to a new train state: all constructors meet here."""

import torch

from evade.config import GameSpec, RunConfig
from evade.layers import Draw
from evade.policies import ActorCritic, build_policy, build_policy_optimiser
from evade.replay import Replay
from evade.runs.folder import RunFolder
from evade.seeding import build_generator, derive_seed
from evade.training.state import TrainState
from evade.world_models import DeterministicWorldModel, build_world_model, build_world_model_optimiser


def build_networks(config: RunConfig, game: GameSpec) -> tuple[ActorCritic, DeterministicWorldModel]:
    """Policy and world model with fresh weights that depend on the seed alone.

    The same seed gives every variant the same transition path and the same policy.
    """
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(config.seed, "policy weights", 0))
        policy = build_policy(config.policy, game, config.world_model.num_frames)
        torch.manual_seed(derive_seed(config.seed, "world model weights", 0))
        return policy, build_world_model(config.world_model, game)


def assemble(config: RunConfig, game: GameSpec, folder: RunFolder) -> TrainState:
    """A run before its first step: fresh networks, no experience."""
    device = torch.device(config.machine.device)
    policy, world_model = build_networks(config, game)
    policy, world_model = policy.to(device), world_model.to(device)
    return TrainState(
        world_model=world_model,
        world_model_optimiser=build_world_model_optimiser(world_model),
        policy=policy,
        policy_optimiser=build_policy_optimiser(policy, config.policy),
        replay=build_replay(config, game, folder),
        generator=build_generator(device, config.seed, "start", 0),
        host_generator=build_generator(torch.device("cpu"), config.seed, "start", 0),
        draw=Draw({}),
    )


def build_replay(config: RunConfig, game: GameSpec, folder: RunFolder) -> Replay:
    """An empty replay with room for the whole run, an eighth more for the frames that begin episodes."""
    capacity = config.schedule.total_real_steps * 9 // 8
    return Replay(
        folder.replay,
        game,
        config.world_model.num_frames,
        config.collect.holdout,
        capacity,
        pads_starts=config.collect.pads_starts,
    )
