"""What a run logs: metrics, scores and timing, and the metrics again for TensorBoard. No torch here."""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evade.config import EVALUATION_VERSION
from evade.envs.games import PREPROCESSING_VERSION
from evade.guarded import read_regular
from evade.runs.files import write_atomically
from evade.runs.folder import RunFolder
from evade.runs.journal import LARGEST_JOURNAL, NOTHING, Extent, Journal, hash_committed, salvage_records
from evade.runs.tensorboard import OptionalMirror

Committed = Mapping[str, Extent]
"""How much of each journal belongs to a checkpoint."""

COMMITTED = ("metrics", "scores")
"""The journals that belong to a checkpoint. Timing does not: it differs between two runs of one config."""


class Logbook:
    """The journals of a run, cut back to a checkpoint when opened.

    Metrics and scores are the same in every repetition of a run; timing is the one record that is not.

    Args:
        folder: the run's folder.
        committed: what the checkpoint says; empty for a new run.
        warn: called with a message about what is lost, and when TensorBoard's events cannot be written.
    """

    def __init__(self, folder: RunFolder, committed: Committed, warn: Callable[[str], None]) -> None:
        times = recover_timing(folder.timing, warn)
        self._metrics = Journal(folder.metrics, committed.get("metrics", NOTHING))
        self._scores = Journal(folder.scores, committed.get("scores", NOTHING))
        self._timing = Journal(folder.timing, times)
        self._seconds_apart = 0.0
        self._tensorboard = OptionalMirror(folder.metrics, folder.tensorboard, warn)

    def commit(self) -> Committed:
        """Force metrics and scores to the disk; gives their extents for the checkpoint."""
        return {"metrics": self._metrics.commit(), "scores": self._scores.commit()}

    def extents(self) -> Committed:
        """How far each journal is written, for the status file, with which readers compare them."""
        return {"metrics": self._metrics.extent, "scores": self._scores.extent, "timing": self._timing.extent}

    def add_metrics(self, iteration: int, phase: str, step: int, values: Mapping[str, float]) -> None:
        """Log numbers of one moment."""
        record = {"iteration": iteration, "phase": phase, "step": step, "values": dict(values)}
        self._metrics.append(record)
        self._tensorboard.add(record)

    def add_scores(self, iteration: int, purpose: str, real_steps: int, episodes: Iterable[Mapping[str, Any]]) -> None:
        """Log every episode of an evaluation, with what makes it comparable."""
        shared = {
            "purpose": purpose,
            "iteration": iteration,
            "real_steps": real_steps,
            "evaluation_version": EVALUATION_VERSION,
            "preprocessing_version": PREPROCESSING_VERSION,
        }
        for episode in episodes:
            self._scores.append(shared | dict(episode))

    @contextmanager
    def timed(self, iteration: int, phase: str) -> Iterator[None]:
        """Log how long a phase took, without what was timed apart inside it (compiling)."""
        start, apart = time.monotonic(), self._seconds_apart
        yield
        self._add_timing(iteration, phase, time.monotonic() - start - (self._seconds_apart - apart))

    def time_apart(self, iteration: int, name: str, seconds: float) -> None:
        """Log how long something inside a phase took, to be counted separately."""
        self._seconds_apart += seconds
        self._add_timing(iteration, name, seconds)

    def _add_timing(self, iteration: int, phase: str, seconds: float) -> None:
        self._timing.append({"iteration": iteration, "phase": phase, "seconds": round(seconds, 3)})

    def close(self) -> None:
        """Close all files."""
        for journal in (self._metrics, self._scores, self._timing, self._tensorboard):
            journal.close()


def check_committed(folder: RunFolder, committed: Committed, names: Iterable[str] = COMMITTED) -> None:
    """Raise `JournalDamaged` unless these journals begin with what a checkpoint committed; nothing is changed."""
    for name in names:
        hash_committed(getattr(folder, name), committed.get(name, NOTHING))


def salvage_metrics(folder: RunFolder, committed: Extent, warn: Callable[[str], None]) -> Extent:
    """Replace damaged metrics by the records that can be read still; returns the extent of what is left.

    Training does not depend on metrics, so damage to them need not end a run. The damaged file is kept beside the new
    one.
    """
    data = _read_if_there(folder.metrics)
    kept, lost = salvage_records(data[: committed.size])
    aside = next(path for number in range(1, 1000) if not (path := _damaged_name(folder.metrics, number)).exists())
    write_atomically(aside, data)
    write_atomically(folder.metrics, kept)
    warn(
        f"{folder.metrics} was damaged: {lost:,} of its lines cannot be read, others may have been changed. The run "
        f"goes on with the rest; its metrics are not to be relied on. The damaged file is kept as {aside.name}."
    )
    return _extent_of(kept)


def recover_timing(path: Path, warn: Callable[[str], None]) -> Extent:
    """The timing records that can be read; a crash of the machine may have damaged the others, which are cut off."""
    data = _read_if_there(path)
    kept, lost = salvage_records(data)
    if kept != data:
        warn(f"{path} had {lost:,} damaged lines, which are removed: the times of these phases are lost.")
        write_atomically(path, kept)
    return _extent_of(kept)


def _extent_of(data: bytes) -> Extent:
    return Extent(len(data), hashlib.sha256(data).hexdigest())


def _damaged_name(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")


def _read_if_there(path: Path) -> bytes:
    return read_regular(path, LARGEST_JOURNAL) if path.exists() else b""


def size_of(path: Path) -> int:
    """Bytes of a file; 0 if there is none."""
    return path.lstat().st_size if path.exists() else 0
