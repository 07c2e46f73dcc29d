"""Read run folders as plain values: settings, every evaluation episode, every logged metric."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeVar, get_type_hints

from evade.checks import fits_type
from evade.errors import EvadeError, JournalDamaged, RunError
from evade.runs.documents import StatusDocument, read_config, read_status
from evade.runs.folder import RunFolder, find_runs, ignore_warning
from evade.runs.journal import hash_committed, read_journal


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


class TimeRow(NamedTuple):
    """How long something took."""

    iteration: int
    phase: str
    seconds: float


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


def read_run(path: str | Path, warn: Callable[[str], None] = ignore_warning) -> RunResult:
    """Read one run folder, which may come from anybody: nothing in it is executed, and links are refused.

    Scores and metrics are compared with the hash that was written down at the last checkpoint.

    Args:
        path: the folder.
        warn: called with a message if the times cannot be read, without which a run can be.

    Raises:
        RunError: it is not a run folder, or its documents are not those of a run.
        UnreadableFile: a file is missing, damaged or not a regular file.
        JournalDamaged: scores or metrics are not what was written.
    """
    folder = RunFolder(Path(path))
    folder.check()
    config = read_config(folder)
    for section in ("env", "evaluation"):
        if not isinstance(config.settings.get(section), dict):
            raise RunError(
                f"{folder.config} has no section {section!r}, so the scores of this run cannot be compared: leave it "
                f"out."
            )
    status = read_status(folder)
    return RunResult(
        folder=folder,
        settings=config.settings,
        fingerprint=config.fingerprint,
        preprocessing_version=config.preprocessing_version,
        evaluation_version=config.evaluation_version,
        status=status.word,
        episodes=tuple(_read_rows(folder, folder.scores, status, EpisodeRow)),
        metrics=tuple(_read_rows(folder, folder.metrics, status, MetricRow)),
        seconds=_read_seconds(folder, status, warn),
    )


def read_runs(
    paths: Iterable[str | Path], warn: Callable[[str], None] = ignore_warning, *, is_strict: bool = False
) -> list[RunResult]:
    """Read run folders, and CSV files of scores; other folders are searched recursively. Each run is read once.

    Args:
        paths: where to look.
        warn: called with a message for every run that cannot be read and is left out.
        is_strict: raise instead of leaving a run out.

    Raises:
        RunError: there are no runs, or none can be read.
    """
    # Here, because a row of scores is read into the classes above.
    from evade.evidence.results.scores_csv import read_scores

    places = tuple(map(Path, paths))
    files = [path for path in places if path.suffix == ".csv" and not path.is_dir()]
    found = [folder for path in places if path not in files for folder in find_runs(path, warn)]
    runs, reasons = [run for path in dict.fromkeys(files) for run in read_scores(path)], []
    if not found and not runs:
        raise RunError(f"there are no runs in {', '.join(map(str, places))}: give run folders, or a folder above them.")
    for folder in dict.fromkeys(found):
        try:
            runs.append(read_run(folder.path, warn))
        except EvadeError as error:
            if is_strict:
                raise
            reasons.append(str(error))
            warn(f"left out: {folder.path} cannot be read: {error}")
    if not runs:
        raise RunError(f"none of the {len(reasons)} runs can be read: {reasons[0]}")
    return runs


Row = TypeVar("Row", EpisodeRow, MetricRow, TimeRow)


def _read_rows(folder: RunFolder, path: Path, status: StatusDocument, kind: type[Row]) -> Iterator[Row]:
    """The records of a journal as rows, after a comparison with the hash in the status, if it has one."""
    committed = status.journals.get(path.stem)
    if committed is not None:
        hash_committed(path, committed)
        if status.word == "finished" and path.lstat().st_size != committed.size:
            raise JournalDamaged(f"{path} has records that were added after the run was finished: restore it.")
    hints = get_type_hints(kind)
    for number, record in enumerate(read_journal(path) if folder.has(path) else (), start=1):
        for name, hint in hints.items():
            if name not in record or not fits_type(record[name], hint):
                value = f"{name} = {record[name]!r:.50}" if name in record else f"no {name}"
                raise JournalDamaged(f"line {number} of {path} has {value}: restore the file from a copy.")
        if kind is MetricRow and not all(fits_type(value, float) for value in record["values"].values()):
            raise JournalDamaged(f"line {number} of {path} has values that are not numbers: restore the file.")
        yield kind(**{name: record[name] for name in hints})


def _read_seconds(folder: RunFolder, status: StatusDocument, warn: Callable[[str], None]) -> dict[str, float]:
    """Wall-clock time by phase; empty if it cannot be read, because a run's results do not depend on it."""
    seconds: dict[str, float] = {}
    try:
        for row in _read_rows(folder, folder.timing, status, TimeRow):
            seconds[row.phase] = seconds.get(row.phase, 0.0) + row.seconds
    except EvadeError as error:
        warn(f"the times of {folder.path} are left out: {error}")
        return {}
    return seconds
