"""Where the runs of a sweep stand, read from their folders as cheaply as possible. No torch here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from evade.errors import UnreadableFile
from evade.runs.files import decode_json, read_json
from evade.runs.folder import RunFolder
from evade.sweeps.plan import PlannedRun
from evade.vocabulary.phases import ITERATION_NAMES, done_share

TAIL_BYTES = 1 << 15
"""How much of a run's scores is read for its latest score: more than one evaluation takes."""


@dataclass(frozen=True)
class Standing:
    """What a run's status file says."""

    word: str
    """new, running, stopped, failed or finished; damaged if the file cannot be read."""
    iteration: int = 0
    iterations: int = 0
    phase: str = ""
    real_steps: int = 0
    updated: float = 0.0
    """Seconds since 1970."""
    score: float | None = None
    """The final score."""
    error: str = ""

    def is_done(self, run: PlannedRun) -> bool:
        """Whether the run is finished with the length that is planned."""
        return self.word == "finished" and self.iterations == run.iterations

    def share(self, run: PlannedRun) -> float:
        """How much of the planned run is done at its last checkpoint, 0 to 1."""
        if self.is_done(run):
            return 1.0
        within = done_share(self.phase, 0.0) if self.phase in ITERATION_NAMES else 0.99
        return min(max(0.0, (self.iteration - 1 + within) / run.iterations), 1.0) if self.iteration else 0.0


def read_standing(runs_dir: Path, run: PlannedRun) -> Standing:
    """Where a run stands; reads one small file."""
    path = RunFolder(runs_dir / run.folder).status
    try:
        found = read_json(path) if path.exists() else {"status": "new"}
    except UnreadableFile as error:
        return Standing("damaged", error=str(error))
    return _standing(found) if isinstance(found, dict) else Standing("damaged", error=f"{path} is not a status.")


def _standing(found: Mapping[str, Any]) -> Standing:
    score = found.get("score")
    return Standing(
        word=str(found.get("status", "new")),
        iteration=int(found.get("iteration", 0)),
        iterations=int(found.get("iterations", 0)),
        phase=str(found.get("phase", "")),
        real_steps=int(found.get("real_steps", 0)),
        updated=float(found.get("updated", 0.0)),
        score=float(score["mean"]) if isinstance(score, Mapping) else None,
        error=str(found.get("error", "")),
    )


def latest_score(runs_dir: Path, run: PlannedRun) -> float | None:
    """The mean score of a run's last evaluation; None before the first one."""
    path = RunFolder(runs_dir / run.folder).scores
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().splitlines(keepends=True)
    except OSError:
        return None
    records = [record for line in lines if (record := _read_line(line)) is not None]
    last = (records[-1].get("purpose"), records[-1].get("iteration")) if records else None
    scores = [float(each["score"]) for each in records if (each.get("purpose"), each.get("iteration")) == last]
    return fmean(scores) if scores else None


def _read_line(line: bytes) -> dict[str, Any] | None:
    """A record; None for the line cut off at the beginning, and for the one being written."""
    try:
        record = decode_json(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return record if isinstance(record, dict) and "score" in record else None
