"""Named settings: a preset says how large, a variant says which event layers. No torch here."""

from collections.abc import Callable
from dataclasses import replace

from evade.config import (
    EVADE,
    CollectConfig,
    DreamConfig,
    EnvConfig,
    EvaluationConfig,
    EventLayer,
    MachineConfig,
    PolicyConfig,
    RunConfig,
    ScheduleConfig,
    WorldModelConfig,
)
from evade.envs.games import resolve
from evade.errors import UnknownPreset

VARIANTS: dict[str, tuple[EventLayer, ...]] = {
    "simple": (),
    "interaction": ("interaction",),
    "weighting": ("weighting",),
    "translation": ("translation",),
    "evade": EVADE,
}
"""The paper's agents as what they are: tuples of event layers in the reward path."""

DEFAULT_PRESET = "minatar"
DEFAULT_VARIANT = "evade"


def _atari100k(game: str) -> RunConfig:
    """The paper: Atari at 105x80, 102,400 real steps, 28.8M dream steps; for GPUs."""
    return RunConfig(
        preset="atari100k",
        variant="simple",
        game=game or "atari/breakout",
        schedule=ScheduleConfig(dream_multipliers=((8, 2), (12, 2), (23, 2), (27, 2), (30, 3))),
        evaluation=EvaluationConfig(episodes=32, final_episodes=64, time_limit=50_000),
    )


def _atari_laptop(game: str) -> RunConfig:
    """Real Atari in 42x32 cells of 16 greys with a small network: 100K real steps in under an hour on one core."""
    return RunConfig(
        preset="atari-laptop",
        variant="simple",
        game=game or "atari/freeway",
        schedule=ScheduleConfig(first_fit_updates=4000, fit_updates=1000, dream_batches=30),
        env=EnvConfig(frame_size=(42, 32), grey_levels=16),
        world_model=WorldModelConfig(
            hidden_size=16,
            depth=3,
            num_doublings=1,
            reward_estimate="expected",
            sigma_init=0.5,
            dropout=0.0,
            middle_dropout=0.0,
            pixel_noise=0.0,
            frame_loss_weight=20.0,
            batch_size=8,
            eventful_share=0.125,
            learning_rate=0.5,
            warmup_updates=200,
        ),
        policy=PolicyConfig(filters=(16, 32), stride=3, learning_rate=2.5e-4, minibatch_times=5),
        collect=CollectConfig(num_slices=64, holdout=0.0, pads_starts=True),
        dream=DreamConfig(num_envs=64, horizon=25, starts_from="all", starts_by="frame", first_starts_at_reset=False),
        evaluation=EvaluationConfig(episodes=4, final_episodes=30, every=5, time_limit=5000, num_envs=10),
        machine=MachineConfig(threads=1),
    )


def _minatar(game: str) -> RunConfig:
    """MinAtar with 100K real steps: about nine minutes on one core."""
    return RunConfig(
        preset="minatar",
        variant="simple",
        game=game or "minatar/breakout",
        schedule=ScheduleConfig(
            iterations=30,
            first_real_steps=6400,
            real_steps=3200,
            first_fit_updates=1500,
            fit_updates=300,
            dream_batches=16,
        ),
        world_model=WorldModelConfig(
            num_frames=6,
            hidden_size=16,
            depth=2,
            num_doublings=0,
            num_local_layers=1,
            standardise=False,
            reward_estimate="expected",
            keeps_objects=True,
            predicts_end=True,
            dropout=0.0,
            middle_dropout=0.0,
            pixel_noise=0.0,
            frame_loss_weight=50.0,
            batch_size=64,
            eventful_share=0.125,
            learning_rate=1.0,
            warmup_updates=100,
        ),
        policy=PolicyConfig(
            filters=(32,),
            num_frames=1,
            kernel_size=3,
            stride=2,
            hidden_size=128,
            precision="bfloat16",
            entropy_coefficient=0.02,
            epochs=2,
            minibatch_times=4,
            learning_rate=1e-3,
        ),
        collect=CollectConfig(num_envs=16, num_slices=2, holdout=0.0, temperature=2.0, pads_starts=True),
        dream=DreamConfig(num_envs=256, horizon=20, starts_from="all", starts_by="frame", first_starts_at_reset=False),
        evaluation=EvaluationConfig(episodes=32, final_episodes=100, every=2, num_envs=100),
        machine=MachineConfig(threads=1),
    )


def _minatar_sticky(game: str) -> RunConfig:
    """The second protocol: MinAtar's own sticky actions, 0.1, in the game and in dreams."""
    config = _minatar(game)
    return replace(
        config,
        preset="minatar-sticky",
        env=replace(config.env, sticky_probability=0.1),
        dream=replace(config.dream, sticky_probability=0.1),
    )


def _quick(game: str) -> RunConfig:
    """MinAtar with a fifth of the real steps: the first run on a new machine, a few minutes."""
    config = _minatar(game)
    return replace(
        config,
        preset="quick",
        schedule=replace(config.schedule, iterations=4),
        evaluation=replace(config.evaluation, every=1),
    )


def _smoke(game: str) -> RunConfig:
    """Everything once, as small as it goes: seconds; for tests."""
    config = _minatar(game)
    is_atari = resolve(config.game).kind == "atari"
    return replace(
        config,
        preset="smoke",
        schedule=ScheduleConfig(
            iterations=2, first_real_steps=128, real_steps=64, first_fit_updates=12, fit_updates=8, dream_batches=4
        ),
        env=EnvConfig(frame_size=(21, 16) if is_atari else None, time_limit=60),
        world_model=replace(
            config.world_model,
            hidden_size=8,
            batch_size=4,
            eventful_share=0.25,
            keeps_objects=not is_atari,
            predicts_end=not is_atari,
        ),
        policy=replace(config.policy, filters=(4,), hidden_size=16),
        collect=CollectConfig(num_envs=2, num_slices=4, holdout=1 / 11, temperature=2.0, pads_starts=True),
        dream=replace(config.dream, num_envs=4, horizon=5),
        evaluation=EvaluationConfig(episodes=2, final_episodes=3, num_envs=3, time_limit=60),
        machine=MachineConfig(threads=1, save_seconds=1.0, compile="off"),
    )


PRESETS: dict[str, Callable[[str], RunConfig]] = {
    "smoke": _smoke,
    "quick": _quick,
    "minatar": _minatar,
    "minatar-sticky": _minatar_sticky,
    "atari-laptop": _atari_laptop,
    "atari100k": _atari100k,
}
"""By name: from a game's name, or the empty string for the preset's own game, to settings."""


def build_config(
    preset: str = DEFAULT_PRESET, variant: str = DEFAULT_VARIANT, game: str | None = None, seed: int = 0
) -> RunConfig:
    """Settings of a preset and a variant, for one game and seed."""
    for kind, name, known in (("preset", preset, list(PRESETS)), ("variant", variant, list(VARIANTS))):
        if name not in known:
            raise UnknownPreset(f"there is no {kind} {name!r}: choose one of {', '.join(known)}.")
    name = resolve(game).name if game else ""
    config = PRESETS[preset](name)
    world_model = replace(config.world_model, event_layers=VARIANTS[variant])
    return replace(config, variant=variant, seed=seed, world_model=world_model)
