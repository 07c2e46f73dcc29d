"""Train the two small runs of the folder `showcase` and export them with model cards: `make showcase`.

The same command continues where it was interrupted. A run is exported without what only training needs:
`evade.load`, `evade evaluate`, `evade look` and `evade report` can use it at once, `evade resume` cannot.
`--preset smoke` tries the whole way in less than a minute; its runs have learnt nothing.
"""

import argparse
import shutil
from pathlib import Path
from typing import Any

from evade.cli.main import main
from evade.errors import RunError
from evade.evidence.results import RunResult, read_run
from evade.evidence.stats import estimate
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.files import read_json
from evade.runs.folder import RunFolder
from evade.training.load import load_run
from evade.viewing.formats import format_duration

PRESET, VARIANT = "minatar", "evade"
GAMES = ("minatar/breakout", "minigrid/DoorKey-5x5")
"""One run each; the seed is 0."""

MOST_BYTES = 5_000_000
"""What all exported runs may take together."""

LEFT_OUT = ("checkpoints", "tensorboard", "lock", "post_mortem", "*.mp4", ".tmp-*")
"""What is not copied."""

NETWORKS = ("policy", "world_model", "draw")
"""What is kept of the newest checkpoint."""


def make_showcase(runs_dir: Path, exported: Path, preset: str = PRESET) -> int:
    """Train what is not trained yet, and export all runs.

    Args:
        runs_dir: where runs are trained.
        exported: the folder for the exported runs; nothing else may be in it.
        preset: of all runs.

    Raises:
        RunError: the exported runs are too large.
    """
    shutil.rmtree(exported, ignore_errors=True)  # of another preset, perhaps
    for game in GAMES:
        code = main(["train", preset, VARIANT, "--game", game, "--runs-dir", str(runs_dir)])
        if code:
            return code
        name = game.replace("/", "-")
        export_run(RunFolder(runs_dir / preset / name / VARIANT / "seed-0"), exported / f"{name}-{VARIANT}")
    size = sum(path.stat().st_size for path in exported.rglob("*") if path.is_file())
    if size > MOST_BYTES:
        raise RunError(f"{exported} has {size:,} bytes, at most {MOST_BYTES:,} are allowed: choose smaller runs.")
    print(f"{exported}: {len(GAMES)} runs, {size:,} bytes")
    return 0


def export_run(run: RunFolder, target: Path) -> None:
    """Copy a finished run with the networks of its newest checkpoint and a model card; an earlier export is replaced.

    Raises:
        RunError: the run is not finished.
    """
    result = read_run(run.path)
    if not result.is_finished:
        raise RunError(f"{run.path} is not finished ({result.status}): finish it with `evade resume`.")
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(run.path, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    save_networks(run, RunFolder(target))
    load_run(target)  # what cannot be loaded is not exported
    (target / "MODEL_CARD.md").write_text(model_card(result, read_json(run.status), read_json(run.environment)))


def save_networks(run: RunFolder, target: RunFolder) -> list[str]:
    """Save the networks of a run's newest checkpoint in another folder, without what only training needs.

    Returns:
        The files of experience that belong to it; they are not copied.

    Raises:
        RunError: the run has no checkpoint.
    """
    checkpoint = load_checkpoint(run.checkpoints, print)
    if checkpoint is None:
        raise RunError(f"{run.path} has no checkpoint: train it first.")
    tensors = {name: checkpoint.tensors[name] for name in NETWORKS if name in checkpoint.tensors}
    chunks = checkpoint.state["parts"]["replay"]
    save_checkpoint(target.checkpoints, checkpoint.number, tensors, {"parts": {"replay": chunks}, "committed": {}})
    return [chunk["name"] for chunk in chunks]


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
| wall-clock time | {format_duration(sum(result.seconds.values()))} |

**Use.** `evade.load` loads it, `evade evaluate` plays games with it, `evade look` opens its world model in a browser,
`evade report` shows how it learnt. `scores.jsonl` has every evaluation game. It holds the networks and the experience,
not the optimisers: it cannot be trained further.

**Limits.** One run with one seed: it shows that the program works, not how good the method is. The policy plays this
game with these settings and nothing else. The world model was fitted to this policy's experience and is wrong about
what it never did.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs_dir", type=Path, help="where the runs are trained")
    parser.add_argument("exported", type=Path, help="replaced by the exported runs")
    parser.add_argument("--preset", default=PRESET, help="of both runs (default: %(default)s)")
    words = parser.parse_args()
    raise SystemExit(make_showcase(words.runs_dir, words.exported, words.preset))
