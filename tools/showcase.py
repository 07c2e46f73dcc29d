"""Train the two small runs of a release and export them with model cards: `make showcase`.

The same command continues where it was interrupted. A run is exported without what only training needs, so that
`evade.load`, `evade evaluate` and `evade report` can use it at once.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from evade.cli.main import main
from evade.errors import RunError
from evade.evidence.results import RunResult, read_run
from evade.evidence.stats import estimate
from evade.runs.files import read_json
from evade.runs.folder import RunFolder
from evade.training.load import load_run

RUNS = (("minatar", "evade", "minatar/breakout"), ("minatar", "evade", "minigrid/DoorKey-5x5"))
"""Preset, variant and game of each run; the seed is 0."""

MOST_BYTES = 5_000_000
"""What all exported runs may take together."""

LEFT_OUT = ("tensorboard", "lock", "post_mortem", "*.mp4", ".tmp-*")
"""What is not exported."""


def make_showcase(folder: Path) -> int:
    """Train what is not trained yet, and export all runs."""
    for preset, variant, game in RUNS:
        runs_dir = folder / "training"
        code = main(["train", preset, variant, "--game", game, "--runs-dir", str(runs_dir)])
        if code:
            return code
        name = game.replace("/", "-")
        export_run(RunFolder(runs_dir / preset / name / variant / "seed-0"), folder / "runs" / f"{name}-{variant}")
    size = sum(path.stat().st_size for path in (folder / "runs").rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise RunError(
            f"{folder / 'runs'} has {size:,} bytes, at most {MOST_BYTES:,} are allowed: choose smaller runs."
        )
    print(f"{folder / 'runs'}: {len(RUNS)} runs, {size:,} bytes")
    return 0


def export_run(run: RunFolder, target: Path) -> None:
    """Copy a finished run with its newest checkpoint and a model card; an earlier export is replaced.

    Raises:
        RunError: the run is not finished.
    """
    result = read_run(run.path)
    if not result.is_finished:
        raise RunError(f"{run.path} is not finished ({result.status}): finish it with `evade resume`.")
    if target.exists():
        shutil.rmtree(target)
    older = [path.name for path in sorted(run.checkpoints.iterdir())[:-1]]
    shutil.copytree(run.path, target, ignore=shutil.ignore_patterns(*LEFT_OUT, *older))
    load_run(target)  # what cannot be loaded is not exported
    (target / "MODEL_CARD.md").write_text(model_card(result, read_json(run.status), read_json(run.environment)))


def model_card(result: RunResult, status: dict[str, Any], environment: dict[str, Any]) -> str:
    """What the run is, what it scores, how it was made, and what it is not good for."""
    found, settings = estimate(result.final_scores), result.settings
    versions = ", ".join(f"{name} {environment[name]}" for name in ("evade", "torch", "python") if name in environment)
    command = f"evade train {result.preset} {result.variant} --game {result.game} --seed {result.seed}"
    return f"""# {result.variant} on {result.game}

A policy and a world model, trained by `{command}`.

| | |
| --- | --- |
| score | {found.show(2)}: mean and standard error over {len(result.final_scores)} games of this one run |
| random play | {status["score"]["random"]:.2f}, by the same protocol |
| real steps | {result.final_episodes[0].real_steps:,} |
| evaluation | temperature {settings["evaluation"]["temperature"]}, version {result.evaluation_version} |
| preprocessing | version {result.preprocessing_version} |
| settings | `config.json`, fingerprint `{result.fingerprint}` |
| made with | {versions} |
| wall-clock time | {sum(result.seconds.values()) / 60:.0f} min |

**Use.** `evade.load` loads it, `evade evaluate` plays games with it, `evade report` shows how it learnt. `scores.jsonl`
has every evaluation game.

**Limits.** One run with one seed: it shows that the program works, not how good the method is. The policy plays this
game with these settings and nothing else. The world model was fitted to this policy's experience and is wrong about
what it never did.
"""


if __name__ == "__main__":
    raise SystemExit(make_showcase(Path(sys.argv[1])))
