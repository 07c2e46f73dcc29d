"""From settings to a new train state: all constructors meet here."""

import torch

from evade.config import RunConfig
from evade.game_spec import GameSpec
from evade.interfaces import Policy, WorldModel
from evade.policies.build import build_learner, build_policy
from evade.replay.store import Replay
from evade.runs.folder import RunFolder
from evade.seeding import derive_seed
from evade.training.state import Generators, HeldDraw, Position, TrainState
from evade.world_models.build import build_fitter, build_world_model


def build_networks(config: RunConfig, game: GameSpec) -> tuple[Policy, WorldModel]:
    """Policy and world model with fresh weights that depend on the seed alone, on the run's device.

    The same seed gives every variant the same transition path and the same policy.
    """
    device, num_frames = torch.device(config.machine.device), config.env.num_frames
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(config.seed, "policy weights", 0))
        policy = build_policy(config.policy, game, num_frames)
        torch.manual_seed(derive_seed(config.seed, "world model weights", 0))
        world_model = build_world_model(config.world_model, game, num_frames)
    return policy.to(device), world_model.to(device)


def build_replay(config: RunConfig, game: GameSpec, folder: RunFolder) -> Replay:
    """The replay of a run's folder, empty."""
    # Room for the whole run, and an eighth more for the frames that begin episodes.
    capacity = config.schedule.total_real_steps * 9 // 8
    num_frames, num_kept = config.env.num_frames, config.collect.num_kept
    return Replay(folder.replay, game, num_frames, config.replay, capacity, num_kept)


def assemble(config: RunConfig, game: GameSpec, folder: RunFolder) -> TrainState:
    """A run before its first step: fresh networks, no experience."""
    policy, world_model = build_networks(config, game)
    return TrainState(
        world_model=world_model,
        fitter=build_fitter(config.world_model, world_model),
        policy=policy,
        learner=build_learner(config.learner, policy),
        replay=build_replay(config, game, folder),
        generators=Generators(torch.device(config.machine.device), config.seed),
        draw=HeldDraw(),
        position=Position(),
    )
