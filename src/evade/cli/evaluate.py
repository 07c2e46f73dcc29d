"""`evade evaluate`: whole games of a trained run's policy."""

import json
from pathlib import Path
from typing import Annotated

import tyro

from evade.checks import require


def evaluate(
    run: Annotated[Path, tyro.conf.Positional],
    episodes: int = 100,
    temperature: float | None = None,
    seed: int = 0,
    as_json: bool = False,
    allow_import: tyro.conf.UseAppendAction[tuple[str, ...]] = (),
) -> int:
    """Play whole games with a run's policy by its evaluation protocol; the run itself is not changed.

    Args:
        run: the run's folder.
        episodes: how many games.
        temperature: instead of the protocol's.
        seed: of games and actions.
        as_json: print every episode as JSON.
        allow_import: a module that the run's game may import, if it is named MODULE:ID; may be repeated.
    """
    require(episodes >= 1, "episodes", episodes, "must be at least 1")
    require(0 <= seed < 2**31, "seed", seed, "must be a whole number from 0 to 2147483647")
    # Imported here so that `evade --help` does not wait for torch.
    from dataclasses import replace
    from statistics import median

    import torch

    from evade.evidence.stats import estimate
    from evade.training.evaluation import evaluate as play
    from evade.training.load import load_run

    loaded = load_run(run, allow_import)
    config = loaded.config
    protocol = config.evaluation if temperature is None else replace(config.evaluation, temperature=temperature)
    scores = play(
        loaded.policy,
        config.game,
        config.env,
        protocol,
        num_episodes=episodes,
        seed=seed,
        device=torch.device("cpu"),
    )
    values = [score.score for score in scores]
    found = estimate(values)
    if as_json:
        print(json.dumps({"mean": found.mean, "episodes": [score._asdict() for score in scores]}))
        return 0
    print(f"{config.game}: {found.show(2)} (mean ± standard error over {episodes} games)")
    print(f"lowest {min(values):g}, median {median(values):g}, highest {max(values):g}")
    return 0
