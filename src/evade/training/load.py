"""A trained run, loaded to look at or to act with."""

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from evade.config import RunConfig
from evade.envs import VectorEnv, make_env, spec
from evade.envs.games import check_import
from evade.errors import RunError
from evade.game_spec import GameSpec
from evade.interfaces import Policy, WorldModel
from evade.layers import Draw
from evade.policies.acting import act
from evade.replay.store import Replay
from evade.runs.checkpoint import load_checkpoint
from evade.runs.folder import RunFolder
from evade.runs.session import saved_config
from evade.training.assemble import build_networks
from evade.training.checkpoints import largest_checkpoint
from evade.training.state import check_draw, load_weights


@dataclass(frozen=True)
class LoadedRun:
    """What a run has learnt so far."""

    config: RunConfig
    game: GameSpec
    policy: Policy
    world_model: WorldModel
    draw: Draw
    """The Thompson draw of its last dreams; hold it with `evade.layers.hold(run.world_model, run.draw)`."""
    generator: torch.Generator
    folder: RunFolder
    chunks: list[dict[str, Any]]
    """Which chunks of real experience belong to the checkpoint."""

    @torch.no_grad()
    def act(self, observation: NDArray[np.uint8], temperature: float | None = None) -> NDArray[np.int64]:
        """Actions for observations uint8 `[N, K, C, H, W]`, by default at the evaluation's temperature."""
        chosen = self.config.evaluation.temperature if temperature is None else temperature
        actions: NDArray[np.int64] = act(
            self.policy, torch.from_numpy(observation), chosen, self.generator
        ).action.numpy()
        return actions

    def read_replay(self) -> Replay:
        """All real experience of the run, read from its folder, which is not changed."""
        capacity = self.config.schedule.total_real_steps * 9 // 8
        replay = Replay(self.folder.replay, self.game, self.config.env.num_frames, self.config.replay, capacity)
        replay.read(self.chunks)
        return replay

    def make_env(self, num_envs: int = 1, seed: int = 0) -> VectorEnv:
        """The game the run was trained on, with its settings."""
        return make_env(self.config.game, num_envs, seed, self.config.env)


def load_run(path: str | Path, allow_import: Collection[str] = ()) -> LoadedRun:
    """Load the newest usable checkpoint of a run folder, on the CPU; the run itself is not touched.

    Args:
        path: the run's folder, which may come from anybody: nothing in it is executed.
        allow_import: modules that the run's game may import, if it is named `MODULE:ID`.

    Raises:
        ImportRefused: the game needs a module that is neither loaded nor allowed.
        RunError: this is no run folder, or its checkpoint does not fit its settings.
    """
    folder = RunFolder(Path(path))
    saved = saved_config(folder)
    check_import(saved.game, allow_import)
    config = replace(saved, machine=replace(saved.machine, device="cpu"))
    game = spec(config.game, config.env)
    policy, world_model = build_networks(config, game)
    # A damaged checkpoint is skipped, but never in silence.
    checkpoint = load_checkpoint(
        folder.checkpoints,
        lambda message: warnings.warn(message, stacklevel=4),
        largest=largest_checkpoint(policy, world_model),
    )
    if checkpoint is None:
        raise RunError(f"{folder.path} has no checkpoint yet: wait for its first one.")
    load_weights(policy, checkpoint.tensors.get("policy", {}))
    load_weights(world_model, checkpoint.tensors.get("world_model", {}))
    draw = Draw(checkpoint.tensors.get("draw", {}))
    check_draw(draw, world_model)
    return LoadedRun(
        config=config,
        game=game,
        policy=policy.eval(),
        world_model=world_model.eval(),
        draw=draw,
        generator=torch.Generator().manual_seed(config.seed),
        folder=folder,
        chunks=checkpoint.state.get("parts", {}).get("replay", []),
    )
