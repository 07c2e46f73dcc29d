"""Final scores of runs as a CSV file, one row per run, from which every table of a comparison can be recomputed.

A row holds what places a run in tables, the score and length of every final episode, and all settings but those of the
machine: they make scores comparable and tell runs of one variant apart.
"""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evade.errors import RunError, StorageError
from evade.evidence.results.read import EpisodeRow, RunResult
from evade.evidence.stats import estimate
from evade.runs.documents import IDENTITY
from evade.runs.files import write_atomically
from evade.runs.folder import RunFolder

VERSIONS = ("preprocessing_version", "evaluation_version")
PLACE = ("iteration", "real_steps")
COLUMNS = (
    *("run", *IDENTITY, "fingerprint", *VERSIONS, *PLACE),
    *("num_episodes", "score", "standard_error", "scores", "lengths", "settings"),
)
"""The game, variant, preset and seed, the mean and its standard error are for readers and not read back."""


def write_scores(runs: Sequence[RunResult], path: Path) -> int:
    """Write the final scores of all finished runs and return how many there are.

    Raises:
        StorageError: the file cannot be written.
    """
    finished = sorted((run for run in runs if run.is_finished), key=_order)
    rows = [_row(run) for run in finished]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    write_atomically(path, text.getvalue().encode())
    return len(rows)


def _order(run: RunResult) -> tuple[str, str, str, int, str]:
    return (run.preset, run.game, run.variant, run.seed, run.fingerprint)


def _row(run: RunResult) -> dict[str, Any]:
    episodes = run.final_episodes
    score = estimate(run.final_scores)
    return {
        "run": "/".join(run.folder.path.parts[-4:]),
        **{name: run.settings[name] for name in IDENTITY},
        "fingerprint": run.fingerprint,
        **{name: getattr(run, name) for name in VERSIONS},
        **{name: getattr(episodes[-1], name) for name in PLACE},
        "num_episodes": len(episodes),
        "score": score.mean,
        "standard_error": score.standard_error if len(episodes) > 1 else "",
        "scores": " ".join(repr(row.score).removesuffix(".0") for row in episodes),
        "lengths": " ".join(str(row.length) for row in episodes),
        "settings": json.dumps({name: value for name, value in run.settings.items() if name != "machine"}),
    }


def read_scores(path: Path) -> list[RunResult]:
    """The finished runs of a file that `write_scores` wrote, without metrics and times.

    Raises:
        RunError: the file cannot be read, or a row is not a run's.
    """
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise RunError(f"{path} is not a file of scores: it has no column {', '.join(missing)}.")
            return [_read_row(path, number, row) for number, row in enumerate(reader, start=2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"{path} cannot be read ({error}).") from None


def _read_row(path: Path, number: int, row: dict[str, str]) -> RunResult:
    try:
        settings = dict(json.loads(row["settings"]))
        if missing := IDENTITY.keys() - settings:
            raise ValueError(f"its settings have no {', '.join(sorted(missing))}")
        preprocessing, evaluation = (int(row[name]) for name in VERSIONS)
        return RunResult(
            folder=RunFolder(path / row["run"]),
            settings=settings,
            fingerprint=row["fingerprint"],
            preprocessing_version=preprocessing,
            evaluation_version=evaluation,
            status="finished",
            episodes=_read_episodes(row),
            metrics=(),
            seconds={},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"line {number} of {path} is not a run's ({error}): write the file again.") from None


def _read_episodes(row: dict[str, str]) -> tuple[EpisodeRow, ...]:
    scores, lengths = row["scores"].split(), row["lengths"].split()
    iteration, real_steps = (int(row[name]) for name in PLACE)
    if not len(scores) == len(lengths) == int(row["num_episodes"]):
        raise ValueError(f"{len(scores)} scores and {len(lengths)} lengths of {row['num_episodes']} episodes")
    return tuple(
        EpisodeRow("score", iteration, real_steps, episode, float(score), int(length))
        for episode, (score, length) in enumerate(zip(scores, lengths, strict=True))
    )
