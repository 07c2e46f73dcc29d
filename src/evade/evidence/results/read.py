"""Run folders as plain values: settings, every evaluation episode, every logged number."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evade.errors import RunError
from evade.runs.files import read_json
from evade.runs.folder import RunFolder, find_runs
from evade.runs.journal import read_journal


class EpisodeRow(NamedTuple):
    """One whole game of an evaluation."""

    purpose: str
    """`evaluate` during training, `score` at its end."""
    iteration: int
    real_steps: int
    episode: int
    score: float
    length: int


class MetricRow(NamedTuple):
    """Numbers that were logged at one moment."""

    iteration: int
    phase: str
    step: int
    values: dict[str, float]


@dataclass(frozen=True)
class RunResult:
    """What a run folder says."""

    folder: RunFolder
    settings: dict[str, Any]
    """As in config.json; `evade.config.from_document` makes them settings again."""
    fingerprint: str
    preprocessing_version: int
    evaluation_version: int
    status: str
    """running, stopped, failed or finished; new if there is none yet."""
    episodes: tuple[EpisodeRow, ...]
    metrics: tuple[MetricRow, ...]
    seconds: dict[str, float]
    """Wall-clock by phase, interruptions not counted."""

    @property
    def preset(self) -> str:
        """The preset's name."""
        return str(self.settings["preset"])

    @property
    def variant(self) -> str:
        """simple, interaction, weighting, translation or evade."""
        return str(self.settings["variant"])

    @property
    def game(self) -> str:
        """The game's name, `minatar/breakout`."""
        return str(self.settings["game"])

    @property
    def seed(self) -> int:
        """The root seed."""
        return int(self.settings["seed"])

    @property
    def protocol(self) -> dict[str, Any]:
        """All that must be equal for two scores to be comparable."""
        return {
            "preprocessing_version": self.preprocessing_version,
            "evaluation_version": self.evaluation_version,
            "env": self.settings["env"],
            "evaluation": self.settings["evaluation"],
        }

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end; before that a final evaluation may be half written."""
        return self.status == "finished" and bool(self.final_scores)

    @property
    def final_scores(self) -> tuple[float, ...]:
        """The episodes of the last final evaluation; empty if the run is not finished."""
        finals = [row for row in self.episodes if row.purpose == "score"]
        last = max((row.iteration for row in finals), default=0)
        return tuple(row.score for row in finals if row.iteration == last)


def read_run(path: str | Path) -> RunResult:
    """Read one run folder."""
    folder = RunFolder(Path(path))
    if not folder.config.exists():
        raise RunError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    config = read_json(folder.config)
    status = read_json(folder.status)["status"] if folder.status.exists() else "new"
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
    """Read run folders; a folder that is none is searched for runs. Nothing found at all is an error."""
    found = [folder for path in paths for folder in find_runs(Path(path))]
    if not found:
        raise RunError(f"there are no runs in {', '.join(map(str, paths))}: give run folders, or a folder above them.")
    return [read_run(folder.path) for folder in dict.fromkeys(found)]


def _records(path: Path) -> list[dict[str, Any]]:
    return list(read_journal(path)) if path.exists() else []
