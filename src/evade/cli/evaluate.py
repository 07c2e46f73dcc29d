"""`evade evaluate`: whole games of a trained run's policy."""

import json
from pathlib import Path
from typing import Annotated

import tyro


def evaluate(
    run: Annotated[Path, tyro.conf.Positional],
    episodes: int = 100,
    temperature: float | None = None,
    seed: int = 0,
    as_json: bool = False,
) -> int:
    """Play whole games with a run's policy by its evaluation protocol; the run itself is not changed.

    Args:
        run: the run's folder.
        episodes: how many games.
        temperature: instead of the protocol's.
        seed: of games and actions.
        as_json: print every episode as JSON.
    """
    # Imported here so that `evade --help` does not wait for torch.
    from dataclasses import asdict, replace

    import torch

    from evade.training.evaluation import evaluate as play
    from evade.training.load import load_run

    loaded = load_run(run)
    config = loaded.config
    protocol = config.evaluation if temperature is None else replace(config.evaluation, temperature=temperature)
    scores = play(
        loaded.policy,
        config.game,
        config.env,
        protocol,
        num_frames=config.world_model.num_frames,
        num_episodes=episodes,
        seed=seed,
        device=torch.device("cpu"),
    )
    values = torch.tensor([score.score for score in scores], dtype=torch.float64)
    mean = values.mean().item()
    error = (values.std() / len(values) ** 0.5).item() if len(values) > 1 else float("nan")
    if as_json:
        print(json.dumps({"mean": mean, "episodes": [asdict(score) for score in scores]}))
        return 0
    print(f"{config.game}: {mean:.2f} ± {error:.2f} (mean ± standard error over {episodes} games)")
    print(f"lowest {values.min():g}, median {values.median():g}, highest {values.max():g}")
    return 0
