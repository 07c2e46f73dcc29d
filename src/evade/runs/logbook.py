"""What a run logs: metrics, scores and timing, and the metrics again for TensorBoard. No torch here."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evade.config import EVALUATION_VERSION
from evade.envs.games import PREPROCESSING_VERSION
from evade.runs.folder import RunFolder
from evade.runs.journal import Journal
from evade.runs.tensorboard import mirror

Committed = Mapping[str, int]
"""How many bytes of each journal belong to a checkpoint."""


class Logbook:
    """The journals of a run, cut back to a checkpoint when opened.

    Metrics and scores are the same in every repetition of a run; timing is the one record that is not.

    Args:
        folder: the run's folder.
        committed: what the checkpoint says; empty for a new run.
    """

    def __init__(self, folder: RunFolder, committed: Committed) -> None:
        self._metrics = Journal(folder.metrics, committed.get("metrics", 0))
        self._scores = Journal(folder.scores, committed.get("scores", 0))
        self._timing = Journal(folder.timing, size_of(folder.timing))
        self._seconds_apart = 0.0
        self._tensorboard = mirror(folder.metrics, folder.tensorboard)

    def commit(self) -> Committed:
        """Force metrics and scores to the disk; gives their lengths for the checkpoint."""
        return {"metrics": self._metrics.commit(), "scores": self._scores.commit()}

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


def size_of(path: Path) -> int:
    """Bytes of a file; 0 if there is none."""
    return path.stat().st_size if path.exists() else 0
