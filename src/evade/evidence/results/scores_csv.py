"""Final scores of runs as a CSV file, one row per run, from which every table of a comparison can be recomputed.

A row holds what places a run in tables, what makes its scores comparable (versions and the settings of game and
evaluation), the settings changed from the preset's, and the score and length of every final episode.
"""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evade.config import flatten
from evade.errors import RunError, StorageError
from evade.evidence.results.labels import changed_settings
from evade.evidence.results.read import IDENTITY, EpisodeRow, RunResult
from evade.evidence.stats import estimate
from evade.runs.files import write_atomically
from evade.runs.folder import RunFolder

VERSIONS = ("preprocessing_version", "evaluation_version")
PLACE = ("iteration", "real_steps")
COLUMNS = ("run", *IDENTITY, "changes", "fingerprint", *VERSIONS, *PLACE)
"""The first columns. After them come settings by their full names, then those of `RESULTS`."""
RESULTS = ("num_episodes", "score", "standard_error", "scores", "lengths")
"""The mean and its standard error are for readers; they are computed from `scores` and not read back."""


def write_scores(runs: Sequence[RunResult], path: Path) -> int:
    """Write the final scores of all finished runs and return how many there are.

    Raises:
        StorageError: the file cannot be written.
    """
    finished = sorted((run for run in runs if run.is_finished), key=_order)
    rows = [_row(run) for run in finished]
    settings = dict.fromkeys(name for row in rows for name in row if name not in (*COLUMNS, *RESULTS))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*COLUMNS, *settings, *RESULTS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    write_atomically(path, text.getvalue().encode())
    return len(rows)


def _order(run: RunResult) -> tuple[str, str, str, str, int]:
    return (run.preset, run.game, run.variant, json.dumps(changed_settings(run)), run.seed)


def _row(run: RunResult) -> dict[str, Any]:
    episodes = run.final_episodes
    score = estimate(run.final_scores)
    return {
        "run": "/".join(run.folder.path.parts[-4:]),
        **{name: run.settings[name] for name in IDENTITY},
        "changes": json.dumps(changed_settings(run)),
        "fingerprint": run.fingerprint,
        **{name: getattr(run, name) for name in VERSIONS},
        **{name: getattr(episodes[-1], name) for name in PLACE},
        **{name: json.dumps(value) for name, value in _protocol_settings(run).items()},
        "num_episodes": len(episodes),
        "score": score.mean,
        "standard_error": score.standard_error if len(episodes) > 1 else "",
        "scores": " ".join(repr(row.score).removesuffix(".0") for row in episodes),
        "lengths": " ".join(str(row.length) for row in episodes),
    }


def _protocol_settings(run: RunResult) -> dict[str, Any]:
    sections = {name: run.settings.get(name, {}) for name in ("env", "evaluation")}
    return {name: value for name, value in flatten(sections).items() if not isinstance(value, dict)}


def read_scores(path: Path) -> list[RunResult]:
    """The finished runs of a file that `write_scores` wrote, without metrics and times.

    Raises:
        RunError: the file cannot be read, or a row is not a run's.
    """
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in (*COLUMNS, *RESULTS) if name not in (reader.fieldnames or ())]
            if missing:
                raise RunError(f"{path} is not a file of scores: it has no column {', '.join(missing)}.")
            return [_read_row(path, number, row) for number, row in enumerate(reader, start=2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"{path} cannot be read ({error}).") from None


def _read_row(path: Path, number: int, row: dict[str, str]) -> RunResult:
    try:
        identity = {name: row[name] for name in IDENTITY} | {"seed": int(row["seed"])}
        changes = json.loads(row["changes"])
        protocol = {name: json.loads(text) for name, text in row.items() if "." in name and text}
        preprocessing, evaluation = (int(row[name]) for name in VERSIONS)
        return RunResult(
            folder=RunFolder(path / row["run"]),
            settings=_nest({"env": {}, "evaluation": {}} | identity, protocol | changes),
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


def _nest(settings: dict[str, Any], flat: dict[str, Any]) -> dict[str, Any]:
    """Put values with full names into their sections."""
    for name, value in flat.items():
        *sections, field = name.split(".")
        place = settings
        for section in sections:
            place = place.setdefault(section, {})
        place[field] = value
    return settings
