"""The withheld-event test: fit models that have seen an event 0, 1, 3, ... times, and ask their draws about it.

A posterior should disagree about events that were never seen and agree about those that were. The test needs no trained
agent: it takes real transitions, withholds the rewarded ones, and measures what draws say of them.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from evade.config import RunConfig
from evade.envs import make_env
from evade.envs.tensors import RealEnv
from evade.errors import RunError
from evade.game_spec import GameSpec
from evade.interfaces import WorldModel
from evade.layers import resample, use_mean
from evade.policies.acting import RandomPolicy
from evade.policies.rollout import roll_out
from evade.replay.recorder import Recorder
from evade.replay.store import Replay
from evade.seeding import build_generator, derive_seed
from evade.training.posterior import Sighting, compare_draws, sample_draws
from evade.world_models.build import build_fitter, build_world_model
from evade.world_models.fit import update_on_replay

CPU = torch.device("cpu")
LEAST_EVENTS = 20
"""Rewarded transitions below which the test says nothing."""


@dataclass(frozen=True)
class WithheldPlan:
    """How much is fitted and asked."""

    sightings: tuple[int, ...] = (0, 1, 3, 10, 30, 100)
    """How many rewarded transitions each model is fitted to."""
    num_updates: int = 600
    """Updates of each fit."""
    num_draws: int = 16
    """Draws asked about each event."""
    max_asked: int = 256
    """Events, and ordinary steps, that draws are asked about; none of them was fitted to."""
    seed: int = 0
    """Of the choice of transitions, the fits and the draws."""


@dataclass(frozen=True)
class WithheldResult:
    """What the test found."""

    num_events: int
    """Rewarded transitions in the experience."""
    num_steps: int
    """All transitions in it."""
    sightings: tuple[Sighting, ...]

    def document(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return asdict(self)


def play_at_random(config: RunConfig, game: GameSpec, num_steps: int, seed: int) -> Replay:
    """Transitions of random play of the run's game, in memory."""
    folder = TemporaryDirectory()
    games = make_env(config.game, config.collect.num_envs, derive_seed(seed, "random play", 0) % 2**31, config.env)
    recorder = Recorder(games)
    policy = RandomPolicy(game.num_actions)
    generator = build_generator(CPU, seed, "random play", 0)
    roll_out(policy, RealEnv(recorder, CPU), num_steps // config.collect.num_envs, generator)
    recorder.close()
    replay = Replay(Path(folder.name), game, config.env.num_frames, config.replay, num_steps * 9 // 8)
    replay.add(recorder.chunk(), lambda path, data: None)
    folder.cleanup()
    return replay


def measure_withheld(
    config: RunConfig,
    game: GameSpec,
    replay: Replay,
    plan: WithheldPlan,
    on_progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> WithheldResult:
    """Fit a model for each number of sightings and ask its draws about held-out events.

    Args:
        config: the settings of the world model and of fitting.
        game: the game.
        replay: real transitions; those with a reward are the events.
        plan: how much of everything.
        on_progress: called with what is done, updates so far, and updates in all.

    Raises:
        RunError: there are too few events to say anything.
    """
    windows = replay.fit_windows
    is_event = replay.gather(windows).reward != 0
    generator = build_generator(CPU, plan.seed, "withheld events", 0)
    events, ordinary = (_shuffle(windows[chosen], generator) for chosen in (is_event, ~is_event))
    if len(events) < LEAST_EVENTS:
        raise RunError(
            f"The experience has {len(events)} rewarded transitions of {len(windows)}, and the test needs at least "
            f"{LEAST_EVENTS}: give a run that has found more, or more random steps."
        )
    num_asked = min(plan.max_asked, len(events) // 2)
    asked, available = replay.gather(events[:num_asked]), events[num_asked:]
    held_out, fitted = replay.gather(ordinary[: plan.max_asked]), ordinary[plan.max_asked :]
    counts = sorted({min(count, len(available)) for count in plan.sightings})
    found = []
    for index, count in enumerate(counts):

        def report(update: int, done: int = index * plan.num_updates, count: int = count) -> None:
            on_progress(f"{count} sightings", done + update, len(counts) * plan.num_updates)

        model = _fit(config, game, replay, fitted, available[:count], plan, report)
        draws = sample_draws(model, plan.num_draws, build_generator(CPU, plan.seed, "draws", count))
        found.append(compare_draws(model, draws, asked, held_out, count))
    return WithheldResult(len(events), len(windows), tuple(found))


def _fit(
    config: RunConfig,
    game: GameSpec,
    replay: Replay,
    ordinary: Tensor,
    seen: Tensor,
    plan: WithheldPlan,
    report: Callable[[int], None],
) -> WorldModel:
    """A fresh model fitted to ordinary transitions and to the events seen, as a run would fit it."""
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(plan.seed, "withheld model", 0))
        model = build_world_model(config.world_model, game, config.env.num_frames)
        fitter = build_fitter(config.world_model, model)
        generator = build_generator(CPU, plan.seed, "withheld batches", len(seen))
        known = torch.cat([ordinary, seen])
        ends = ordinary[replay.gather(ordinary).terminated]
        subset = replay.restricted_to(known, torch.cat([ends, seen]))
        model.use_statistics(subset.statistics())
        resample(model.train())
        for update in range(1, plan.num_updates + 1):
            update_on_replay(fitter, subset, generator, CPU)
            report(update)
    model.eval()
    with use_mean(model):
        for begin in range(0, len(known), plan.max_asked):
            model.observe(replay.gather(known[begin : begin + plan.max_asked]))
    return model


def _shuffle(places: Tensor, generator: torch.Generator) -> Tensor:
    return places[torch.randperm(len(places), generator=generator)]
