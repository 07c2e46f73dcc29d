"""Read run folders as plain values: settings, every evaluation episode, every logged metric."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from evade.errors import RunError
from evade.runs.files import read_json
from evade.runs.folder import RunFolder, find_runs
from evade.runs.journal import read_journal

CONFIG = ("settings", "fingerprint", "preprocessing_version", "evaluation_version")
"""What config.json must have."""

IDENTITY = ("preset", "variant", "game", "seed")
"""What the settings must have to place a run in tables."""


class EpisodeRow(NamedTuple):
    """One episode (a whole game) of an evaluation."""

    purpose: str
    """`evaluate` for evaluations during training, `score` for the final one."""
    iteration: int
    real_steps: int
    episode: int
    score: float
    length: int


class MetricRow(NamedTuple):
    """Metrics that were logged together."""

    iteration: int
    phase: str
    step: int
    values: dict[str, float]
    """By full name, as in `evade.vocabulary.metrics`."""


@dataclass(frozen=True)
class RunResult:
    """The content of a run folder."""

    folder: RunFolder
    settings: dict[str, Any]
    """As in config.json; `evade.config.from_document` converts them to a `RunConfig`."""
    fingerprint: str
    preprocessing_version: int
    evaluation_version: int
    status: str
    """running, stopped, failed or finished; new if there is no status.json yet."""
    episodes: tuple[EpisodeRow, ...]
    metrics: tuple[MetricRow, ...]
    seconds: dict[str, float]
    """Wall-clock time by phase, without interruptions."""

    @property
    def preset(self) -> str:
        """The preset's name."""
        return str(self.settings["preset"])

    @property
    def variant(self) -> str:
        """The variant's name, a key of `evade.vocabulary.variants.VARIANTS`."""
        return str(self.settings["variant"])

    @property
    def game(self) -> str:
        """The game's name, such as `minatar/breakout`."""
        return str(self.settings["game"])

    @property
    def seed(self) -> int:
        """The root seed."""
        return int(self.settings["seed"])

    @property
    def is_finished(self) -> bool:
        """Whether the run's status is finished and it has final scores: the one definition for tables and reports."""
        return self.status == "finished" and bool(self.final_scores)

    @property
    def final_episodes(self) -> tuple[EpisodeRow, ...]:
        """The episodes of the last final evaluation, which may be half written unless `is_finished`."""
        finals = [row for row in self.episodes if row.purpose == "score"]
        last = max((row.iteration for row in finals), default=0)
        return tuple(row for row in finals if row.iteration == last)

    @property
    def final_scores(self) -> tuple[float, ...]:
        """The scores of `final_episodes`."""
        return tuple(row.score for row in self.final_episodes)

    @property
    def final_score(self) -> float | None:
        """The run's score: the mean of its final scores; None unless `is_finished`."""
        return fmean(self.final_scores) if self.is_finished else None


def read_run(path: str | Path) -> RunResult:
    """Read one run folder.

    Raises:
        RunError: it is not a run folder, or its config.json lacks something.
    """
    folder = RunFolder(Path(path))
    if not folder.config.exists():
        raise RunError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    config = read_json(folder.config)
    _require(folder.config, config, CONFIG)
    _require(folder.config, config["settings"], IDENTITY, "settings.")
    status = read_json(folder.status).get("status", "new") if folder.status.exists() else "new"
    seconds: dict[str, float] = {}
    for record in _records(folder.timing):
        seconds[record["phase"]] = seconds.get(record["phase"], 0.0) + record["seconds"]
    fields = EpisodeRow._fields
    return RunResult(
        folder=folder,
        settings=config["settings"],
        fingerprint=config["fingerprint"],
        preprocessing_version=config["preprocessing_version"],
        evaluation_version=config["evaluation_version"],
        status=status,
        episodes=tuple(EpisodeRow(*(record[name] for name in fields)) for record in _records(folder.scores)),
        metrics=tuple(MetricRow(**record) for record in _records(folder.metrics)),
        seconds=seconds,
    )


def read_runs(paths: Iterable[str | Path]) -> list[RunResult]:
    """Read run folders, and CSV files of scores; other folders are searched recursively. Each run is read once.

    Raises:
        RunError: there are no runs, or one cannot be read.
    """
    # Here, because a row of scores is read into the classes above.
    from evade.evidence.results.scores_csv import read_scores

    places = tuple(map(Path, paths))
    files = [path for path in places if path.suffix == ".csv" and not path.is_dir()]
    found = [folder for path in places if path not in files for folder in find_runs(path)]
    runs = [read_run(folder.path) for folder in dict.fromkeys(found)]
    runs += [run for path in dict.fromkeys(files) for run in read_scores(path)]
    if not runs:
        raise RunError(f"there are no runs in {', '.join(map(str, places))}: give run folders, or a folder above them.")
    return runs


def _require(path: Path, document: Any, names: Iterable[str], section: str = "") -> None:
    """Raise a `RunError` that lists the missing names of a document, which may be of another version or program."""
    missing = [name for name in names if not isinstance(document, dict) or name not in document]
    if missing:
        raise RunError(
            f"{path} has no {', '.join(section + name for name in missing)}: this version of evade did not write it. "
            f"Leave this run out."
        )


def _records(path: Path) -> list[dict[str, Any]]:
    return list(read_journal(path)) if path.exists() else []
