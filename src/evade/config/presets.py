"""Named settings: a preset says how large, a variant says which event layers. No torch here."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evade.config.run import (
    CollectConfig,
    EvaluationConfig,
    MachineConfig,
    RunConfig,
    ScheduleConfig,
)
from evade.dreams.settings import DreamConfig
from evade.envs.games import resolve
from evade.envs.settings import EnvConfig
from evade.errors import UnknownPreset
from evade.policies.settings import ActorCriticConfig, PPOConfig
from evade.replay.settings import ReplayConfig
from evade.vocabulary.variants import DEFAULT_VARIANT, VARIANTS
from evade.world_models.bits_settings import BitsConfig
from evade.world_models.settings import (
    DeterministicConfig,
    FitConfig,
    RewardPathConfig,
    StochasticDiscreteConfig,
)

DEFAULT_PRESET = "minatar"


def _atari100k(game: str) -> RunConfig:
    """The paper: Atari at 105x80, 102,400 real steps, 28.8M dream steps; for GPUs."""
    return RunConfig(
        preset="atari100k",
        variant="simple",
        game=game or "atari/breakout",
        schedule=ScheduleConfig(dream_multipliers=((8, 2), (12, 2), (23, 2), (27, 2), (30, 3))),
        evaluation=EvaluationConfig(episodes=32, final_episodes=64, time_limit=50_000),
    )


def _atari100k_simple(game: str) -> RunConfig:
    """SimPLe as published: the stochastic discrete model, 15 iterations of 6400 real steps, 15.2M dream steps.

    Paper (section 4.2): 15 iterations with double the real steps of its own 30. T2T SimPLe, the release that its README
    recommends for reproduction (1.13.1, set `rlmb_base_stochastic_discrete`): 45K updates first, then 15K; 1000 dream
    batches, twice as many in iterations 8 and 12 and three times as many in iteration 15.
    """
    return RunConfig(
        preset="atari100k-simple",
        variant="simple",
        game=game or "atari/breakout",
        schedule=ScheduleConfig(iterations=15, real_steps=6400, dream_multipliers=((8, 2), (12, 2), (15, 3))),
        replay=ReplayConfig(target_frames=6),
        world_model=StochasticDiscreteConfig(),
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
        replay=ReplayConfig(batch_size=8, eventful_share=0.125, holdout=0.0, pads_starts=True),
        world_model=DeterministicConfig(
            hidden_size=16,
            depth=3,
            num_doublings=1,
            reward=RewardPathConfig(sigma_init=0.5, estimate="expected"),
            fit=FitConfig(
                dropout=0.0,
                middle_dropout=0.0,
                pixel_noise=0.0,
                frame_loss_weight=20.0,
                learning_rate=0.5,
                warmup_updates=200,
            ),
        ),
        policy=ActorCriticConfig(filters=(16, 32), stride=3),
        learner=PPOConfig(learning_rate=2.5e-4, minibatch_times=5),
        collect=CollectConfig(num_slices=64),
        dream=DreamConfig(num_envs=64, horizon=25, starts_from="all", starts_by="frame", first_starts_at_reset=False),
        evaluation=EvaluationConfig(episodes=4, final_episodes=30, every=5, time_limit=5000, num_envs=10),
        machine=MachineConfig(threads=1),
    )


_GRID_NETWORK: dict[str, Any] = {
    "hidden_size": 16,
    "depth": 2,
    "num_doublings": 0,
    "num_local_layers": 1,
    "standardise": False,
    "keeps_objects": True,
    "predicts_end": True,
    "corrects_rates": True,
    "reward": RewardPathConfig(estimate="expected", prior_scale=0.3, prior_optimism=0.5, prior_budget=0.05),
    "fit": FitConfig(
        dropout=0.0,
        middle_dropout=0.0,
        pixel_noise=0.0,
        frame_loss_weight=50.0,
        optimiser="adam",
        learning_rate=0.06,
        warmup_updates=100,
        head_decay=640.0,
    ),
    "seen_frames": 6,
    "clocks": True,
    "counts": True,
    "lines": True,
    "flips": True,
    "one_place": True,
    "local_heads": True,
}
"""What both world models of small grids share (docs/decisions/0008-the-minatar-preset.md,
0012-chance-and-timers.md, 0013-local-heads.md, 0015-what-a-dream-may-promise.md, 0021-counts-and-lines.md and
0024-one-place-for-each-object.md)."""

GRID_MODEL = DeterministicConfig(**_GRID_NETWORK, surprises=True)
"""The world model of small grids of objects."""

GRID_STOCHASTIC_MODEL = StochasticDiscreteConfig(
    **_GRID_NETWORK,
    memory_channels=0,
    bits=BitsConfig(
        count=8,
        predictor_size=32,
        sees_changes=True,
        posterior_filters=(32, 32),
        centred=True,
        noise=0.0,
        flipped_share=0.0,
        predicted_share=0.0,
        used_share=1.0,
        warmup_updates=500,
        use_warmup_updates=250,
    ),
)
"""The same with eight bits, one symbol, in place of surprises (docs/decisions/0025-bits-on-grids.md)."""

GRID_POLICY = ActorCriticConfig(filters=(32,), num_frames=1, kernel_size=3, stride=2, hidden_size=128)
"""The policy on small grids. In float32: bfloat16 would save a third of PPO's time on a processor with bfloat16
products, and take ten times as long on one without."""


def _minatar(game: str) -> RunConfig:
    """MinAtar with 100K real steps: about ten minutes on one core."""
    return RunConfig(
        preset="minatar",
        variant="simple",
        game=game or "minatar/breakout",
        schedule=ScheduleConfig(
            iterations=30,
            first_real_steps=6400,
            real_steps=3200,
            first_fit_updates=800,
            fit_updates=150,
            dream_batches=16,
        ),
        env=EnvConfig(num_frames=13, binary_channels=True),
        replay=ReplayConfig(
            batch_size=64, eventful_share=0.125, distinct_share=0.25, changes_share=0.25, holdout=0.0, pads_starts=True
        ),
        world_model=GRID_MODEL,
        policy=GRID_POLICY,
        learner=PPOConfig(
            clip=0.2, entropy_coefficient=0.01, epochs=4, minibatch_times=2, learning_rate=1e-3, advantage_floor=0.02
        ),
        collect=CollectConfig(
            num_envs=16, improves_policy=False, num_slices=10, trying_temperature=2.0, kept_share=0.5
        ),
        dream=DreamConfig(
            num_envs=512,
            horizon=10,
            starts_from="all",
            starts_by="distinct",
            first_starts_at_reset=False,
            beside_games=1,
        ),
        evaluation=EvaluationConfig(episodes=32, final_episodes=100, every=2, num_envs=100),
        # A dream step is mostly loops that are compiled already (docs/decisions/0018-what-real-games-show.md).
        machine=MachineConfig(threads=1, compile="off"),
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


def _minatar_bits(game: str) -> RunConfig:
    """MinAtar with the stochastic world model, SimPLe's own answer to chance; `minatar` scores higher."""
    return replace(_minatar(game), preset="minatar-bits", world_model=GRID_STOCHASTIC_MODEL)


def _quick(game: str) -> RunConfig:
    """MinAtar with a fifth of the real steps: the first run on a new machine, a few minutes."""
    config = _minatar(game)
    return replace(
        config,
        preset="quick",
        schedule=replace(config.schedule, iterations=4),
        evaluation=replace(config.evaluation, every=1),
    )


def _for_pictures(model: DeterministicConfig) -> DeterministicConfig:
    """The same model without what needs binary cells, and without ends, which are not predicted on Atari."""
    return replace(
        model,
        keeps_objects=False,
        predicts_end=False,
        clocks=False,
        counts=False,
        lines=False,
        surprises=False,
        flips=False,
        one_place=False,
        local_heads=False,
        pools_max=True,
        reward=replace(model.reward, prior_scale=0.0),
        fit=replace(model.fit, head_decay=0.0),
    )


def _smoke(game: str) -> RunConfig:
    """Every phase at the smallest size: seconds; for tests."""
    config = _minatar(game)
    is_atari = resolve(config.game).kind == "atari"
    return replace(
        config,
        preset="smoke",
        schedule=ScheduleConfig(
            iterations=2, first_real_steps=128, real_steps=64, first_fit_updates=12, fit_updates=8, dream_batches=4
        ),
        env=EnvConfig(
            num_frames=6, frame_size=(21, 16) if is_atari else None, binary_channels=not is_atari, time_limit=60
        ),
        replay=ReplayConfig(
            batch_size=4,
            eventful_share=0.25,
            distinct_share=0.25,
            changes_share=0.0 if is_atari else 0.25,
            holdout=1 / 11,
            pads_starts=True,
        ),
        world_model=replace(_for_pictures(GRID_MODEL) if is_atari else GRID_MODEL, hidden_size=8),
        policy=replace(GRID_POLICY, filters=(4,), hidden_size=16),
        collect=CollectConfig(num_envs=2, num_slices=4, temperature=2.0, kept_share=0.0 if is_atari else 0.5),
        dream=replace(config.dream, num_envs=4, horizon=5),
        evaluation=EvaluationConfig(episodes=2, final_episodes=3, num_envs=3, time_limit=60),
        machine=MachineConfig(threads=1, save_seconds=1.0, compile="off"),
    )


PRESETS: dict[str, Callable[[str], RunConfig]] = {
    "smoke": _smoke,
    "quick": _quick,
    "minatar": _minatar,
    "minatar-sticky": _minatar_sticky,
    "minatar-bits": _minatar_bits,
    "atari-laptop": _atari_laptop,
    "atari100k": _atari100k,
    "atari100k-simple": _atari100k_simple,
}
"""By name: from a game's name, or the empty string for the preset's own game, to settings."""


def build_config(
    preset: str = DEFAULT_PRESET, variant: str = DEFAULT_VARIANT, game: str | None = None, seed: int = 0
) -> RunConfig:
    """Settings of a preset and a variant, for one game and seed."""
    for kind, name, known in (("preset", preset, list(PRESETS)), ("variant", variant, list(VARIANTS))):
        if name not in known:
            raise UnknownPreset(f"Unknown {kind} {name!r}: must be one of {', '.join(known)}.")
    config = PRESETS[preset]("" if game is None else resolve(game).name)
    world_model = config.world_model.with_event_layers(VARIANTS[variant].event_layers)
    return replace(config, variant=variant, seed=seed, world_model=world_model)
