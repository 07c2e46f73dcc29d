"""`evade posterior`: do draws of the reward model disagree about what was never seen?"""

from pathlib import Path
from typing import Annotated

import tyro

from evade.checks import require
from evade.config.presets import DEFAULT_PRESET
from evade.vocabulary.variants import DEFAULT_VARIANT

MOST_DIGITS = 9
"""Of a number of sightings: more than any run has experience, and few enough to be read as a number."""


def posterior(
    run: Annotated[Path | None, tyro.conf.Positional] = None,
    game: str | None = None,
    preset: str = DEFAULT_PRESET,
    variant: str = DEFAULT_VARIANT,
    prior_scale: float | None = None,
    steps: int = 24_000,
    updates: int = 600,
    sightings: str = "0,1,3,10,30,100",
    draws: int = 16,
    seed: int = 0,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    allow_import: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
) -> int:
    """Measure a posterior: withhold rewarded events, show them 0, 1, 3, ... times, and ask draws about them.

    Either a run's own experience is used, or random play of a game. The run is not changed.

    Args:
        run: a run folder; its settings and experience are used.
        game: without a run: the game to play at random.
        preset: without a run: whose settings.
        variant: without a run: whose event layers.
        prior_scale: instead of the settings' world_model.reward.prior_scale.
        steps: without a run: steps of random play.
        updates: updates of each fit.
        sightings: how often the event is shown, numbers with commas; one fit each.
        draws: draws asked about each event.
        seed: of everything random.
        output: a folder for posterior.json and posterior.svg.
        allow_import: a module that the run's game may import, if it is named MODULE:ID; may be repeated.
    """
    counts = _read_sightings(sightings)
    _check(seed, steps=steps, updates=updates, draws=draws)
    # Imported here so that `evade --help` does not wait for torch.
    import torch
    from rich.console import Console

    from evade.benchmark.progress import ProgressBar
    from evade.training.withheld import WithheldPlan, measure_withheld
    from evade.viewing.posterior import (
        Source,
        group_table,
        open_run,
        play_game,
        policy_lines,
        sightings_table,
        write_files,
    )

    torch.set_num_threads(1)
    plan = WithheldPlan(sightings=counts, num_updates=updates, num_draws=draws, seed=seed)
    source: Source = play_game(game, preset, variant, steps, seed) if run is None else open_run(run, allow_import)
    if prior_scale is not None:
        source = source.with_prior_scale(prior_scale)
    with ProgressBar("posterior", Console(stderr=True)) as bar:
        result = measure_withheld(source.config, source.game, source.replay, plan, bar.advance)
    console = Console(width=max(100, Console().width))
    console.print(sightings_table(source, result), "", group_table(result))
    for line in policy_lines(source, draws, seed):
        print(line)
    if output is not None:
        for path in write_files(source, result, output):
            print(path)
    return 0


def _read_sightings(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    is_plan = all(word.isascii() and word.isdecimal() and len(word) <= MOST_DIGITS for word in words)
    require(is_plan, "sightings", text, f"must be whole numbers of up to {MOST_DIGITS} digits with commas, as in 0,30")
    return tuple(map(int, words))


def _check(seed: int, **counts: int) -> None:
    require(0 <= seed < 2**31, "seed", seed, "must be a whole number from 0 to 2147483647")
    for name, value in counts.items():
        require(value >= 1, name, value, "must be at least 1")
