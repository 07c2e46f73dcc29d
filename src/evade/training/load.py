"""A trained run, loaded to look at, to act with and to dream with."""

import warnings
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evade.checks import require
from evade.config import RunConfig
from evade.dreams.single import SingleDream
from evade.envs import VectorEnv, make_env, spec
from evade.envs.games import check_import
from evade.errors import RunError, ShapeError
from evade.game_spec import GameSpec
from evade.interfaces import Policy, WorldModel
from evade.layers import Draw, draw, hold, noisy_layers, use_mean
from evade.layers.posterior import Switch
from evade.policies.acting import act
from evade.replay.store import Replay
from evade.runs.checkpoint import load_checkpoint
from evade.runs.folder import RunFolder
from evade.runs.session import saved_config
from evade.training.assemble import build_networks, build_replay
from evade.training.checkpoints import largest_checkpoint
from evade.training.posterior import expected_rewards, rewards_under_draws
from evade.training.state import check_draw, load_weights

CPU = torch.device("cpu")

DrawChoice = Draw | int | Literal["mean"] | None
"""Which reward model: a draw; the number of one (`LoadedRun.sample_draw`); `"mean"` for the mean weights; None for the
draw of the run's last dreams, or the mean if it has none."""


class Rewards(NamedTuple):
    """Expected rewards of each action at one observation."""

    mean: NDArray[np.float32]
    """`[A]`, under the mean weights."""
    draws: NDArray[np.float32]
    """`[D, A]`, under draws 0 to D - 1."""


class LayerMaps(NamedTuple):
    """The maps before and after one noisy layer."""

    before: NDArray[np.float32]
    """`[C, h, w]`."""
    after: NDArray[np.float32]
    """`[C, h, w]`; another number of channels or size only after the last convolution."""


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
    device: torch.device = CPU
    """Of both networks."""

    @torch.no_grad()
    def act(self, observation: NDArray[np.uint8], temperature: float | None = None) -> NDArray[np.int64]:
        """Actions for observations uint8 `[N, K, C, H, W]`, by default at the evaluation's temperature."""
        chosen = self.config.evaluation.temperature if temperature is None else temperature
        actions: NDArray[np.int64] = (
            act(self.policy, torch.from_numpy(observation).to(self.device), chosen, self.generator).action.cpu().numpy()
        )
        return actions

    def read_replay(self) -> Replay:
        """All real experience of the run, read from its folder, which is not changed."""
        replay = build_replay(self.config, self.game, self.folder)
        replay.read(self.chunks)
        return replay

    def make_env(self, num_envs: int = 1, seed: int = 0) -> VectorEnv:
        """The game the run was trained on, with its settings."""
        return make_env(self.config.game, num_envs, seed, self.config.env)

    @property
    def has_draws(self) -> bool:
        """Whether the world model has noisy layers; SimPLe's has none."""
        return bool(noisy_layers(self.world_model))

    def sample_draw(self, number: int) -> Draw:
        """Draw `number` from the posterior: the same for the same run and number, whenever it is asked for.

        Its noise comes from `torch.Generator().manual_seed(number)`.
        """
        self._require_draws()
        require(0 <= number < 2**63, "draw", number, "must be 0 to 2^63 - 1")
        with use_mean(self.world_model):
            return draw(self.world_model, torch.Generator().manual_seed(number))

    def dream(
        self,
        start: NDArray[np.uint8] | None = None,
        draw: DrawChoice = None,
        *,
        horizon: int | None = None,
        render_mode: Literal["rgb_array"] | None = None,
    ) -> SingleDream:
        """The dream as a Gymnasium environment, with the spaces of the game.

        The environment has its own copy of the world model, so dreams of several draws can be played side by side.

        Args:
            start: uint8 `[K, C, H, W]`, the observation every dream starts from; None samples real ones from the
                replay as the run's own dreams do.
            draw: which reward model.
            horizon: steps after which a dream is truncated; None for the run's own `dream.horizon`.
            render_mode: `"rgb_array"` to enable `render`.
        """
        model = deepcopy(self.world_model)
        self._choose_draw(model, draw)
        config = self.config.dream
        return SingleDream(
            model,
            self.game,
            self.config.env.num_frames,
            self._sample_start if start is None else _always(self._to_batch(start)),
            horizon=config.horizon if horizon is None else horizon,
            sticky_probability=config.sticky_probability,
            device=self.device,
            render_mode=render_mode,
        )

    def rewards(self, observation: NDArray[np.uint8], draws: int = 16) -> Rewards:
        """Expected reward of each action under the mean and under draws 0 to `draws` - 1.

        Args:
            observation: uint8 `[K, C, H, W]`.
            draws: D, how many draws; a run without noisy layers allows only 0.
        """
        require(draws >= 0, "draws", draws, "must not be negative")
        num_actions = self.game.num_actions
        batch = self._to_batch(observation).expand(num_actions, -1, -1, -1, -1).to(self.device)
        actions = torch.arange(num_actions, device=self.device)
        with use_mean(self.world_model):
            mean = expected_rewards(self.world_model, batch, actions).cpu().numpy()
        values = [self.sample_draw(number) for number in range(draws)]
        if not values:
            return Rewards(mean, np.zeros((0, num_actions), np.float32))
        return Rewards(mean, rewards_under_draws(self.world_model, values, batch, actions).cpu().numpy())

    @torch.no_grad()
    def maps(self, observation: NDArray[np.uint8], action: int, draw: DrawChoice = None) -> dict[str, LayerMaps]:
        """The maps before and after each noisy layer, by the layer's name in the network; empty without any.

        Args:
            observation: uint8 `[K, C, H, W]`.
            action: 0 to A - 1.
            draw: which reward model.
        """
        require(0 <= action < self.game.num_actions, "action", action, f"must be 0 to {self.game.num_actions - 1}")
        batch = self._to_batch(observation).to(self.device)
        with self._choose_draw(self.world_model, draw):
            found = self.world_model.feature_maps(batch, torch.tensor([action], device=self.device))
        arrays = {name: value[0].float().cpu().numpy() for name, value in found.items()}
        names = dict.fromkeys(name.rpartition(".")[0] for name in arrays)
        return {name: LayerMaps(arrays[f"{name}.before"], arrays[f"{name}.after"]) for name in names}

    def _choose_draw(self, model: WorldModel, choice: DrawChoice) -> Switch:
        """Switch all noisy layers of a model to a draw or the mean."""
        if choice == "mean" or (choice is None and not self.draw):
            return use_mean(model)
        if choice is None:
            return hold(model, self.draw)
        return hold(model, choice if isinstance(choice, Draw) else self.sample_draw(int(choice)))

    def _require_draws(self) -> None:
        if not self.has_draws:
            raise RunError(
                f"{self.folder.path} has no draws: its variant {self.config.variant!r} has no noisy layers. Use the "
                f"mean, or a run of another variant."
            )

    def _to_batch(self, observation: NDArray[np.uint8]) -> Tensor:
        """uint8 `[K, C, H, W]` to a batch of one."""
        game = self.game
        shape = (self.config.env.num_frames, game.channels, game.height, game.width)
        if observation.shape != shape or observation.dtype != np.uint8:
            raise ShapeError(
                f"Invalid observation, {observation.dtype} {list(observation.shape)}: must be uint8 {list(shape)} "
                f"(frames, channels, rows, columns)."
            )
        return torch.from_numpy(observation.copy()).unsqueeze(0)

    @cached_property
    def _replay(self) -> Replay:
        return self.read_replay()

    def _sample_start(self, generator: torch.Generator) -> Tensor:
        config = self.config.dream
        return self._replay.starts(1, generator, newest=config.starts_from == "newest", by=config.starts_by)


def _always(start: Tensor) -> Callable[[torch.Generator], Tensor]:
    return lambda generator: start


def make_dream(run: str | Path | LoadedRun, **options: Any) -> SingleDream:
    """The entry point of `gymnasium.make("evade/Dream-v0", run=...)`.

    Args:
        run: a run's folder, or a loaded run.
        options: those of `LoadedRun.dream`.
    """
    return (run if isinstance(run, LoadedRun) else load_run(run)).dream(**options)


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
