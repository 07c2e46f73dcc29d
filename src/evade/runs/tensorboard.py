"""Metrics for TensorBoard: a mirror of metrics.jsonl that can be deleted and written again at any time.

A journal's step counts within a phase and starts again in every iteration, so it is no axis for a whole run. The
mirror's axis is the number of real steps so far; metrics of fitting and of dreams, which are logged many times between
two collections, are placed by the number of world-model updates and of dream batches so far.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from evade.errors import EvadeError, MetricsError
from evade.runs.journal import read_journal

OWN_FILE = re.compile(r"events\.out\.tfevents\.[0-9]+")
"""The names of the event files that we write, and therefore what `mirror` deletes."""


COUNTED_GROUPS = ("fit", "dream")
"""Groups of metrics that are placed by a count of their own: the updates of `fit`, the dream batches of `improve`."""

REAL_STEPS = "collect/steps"
"""The metric that says how many real steps were taken so far."""


class Axis:
    """Where the points of a run are placed; it learns from the records, which must come in the order of the journal."""

    def __init__(self) -> None:
        self._real_steps = 0
        self._before: dict[str, int] = {}
        self._current: dict[str, tuple[int, int]] = {}

    def place(self, record: Mapping[str, Any]) -> dict[str, int]:
        """The place of each value of one more record, by name."""
        self._real_steps = int(record["values"].get(REAL_STEPS, self._real_steps))
        count = self._count(record["phase"], record["iteration"], record["step"])
        return {name: count if _group(name) in COUNTED_GROUPS else self._real_steps for name in record["values"]}

    def _count(self, phase: str, iteration: int, step: int) -> int:
        """Units of a phase over all iterations: the last step of an iteration is the number of its units."""
        last_iteration, last_step = self._current.get(phase, (iteration, 0))
        if iteration != last_iteration:
            self._before[phase] = self._before.get(phase, 0) + last_step
        self._current[phase] = (iteration, step)
        return self._before.get(phase, 0) + step


def _group(name: str) -> str:
    return name.partition("/")[0]


class TensorBoardMirror:
    """Writes records of metrics as TensorBoard's scalars, by their names, over the places that `Axis` gives them.

    Every record reaches the system as soon as it is added, so that TensorBoard shows it at once.

    Args:
        directory: made when missing. The new event file is read after those already there.
    """

    def __init__(self, directory: Path) -> None:
        self._axis = Axis()
        directory.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads a folder's files in the order of their names and never goes back.
        self.path = directory / f"events.out.tfevents.{time.time_ns()}"
        self._file = self.path.open("xb")
        self._writer = RecordWriter(self._file)
        try:
            self._write(Event(file_version="brain.Event:2"))
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record: `{"iteration": int, "phase": str, "step": int, "values": {name: float}}`.

        Raises:
            MetricsError: the record is not of that form.
        """
        _check(record, "this record")
        scalars: dict[int, list[Summary.Value]] = {}
        for name, place in self._axis.place(record).items():
            scalars.setdefault(place, []).append(Summary.Value(tag=name, simple_value=record["values"][name]))
        for place, values in scalars.items():
            self._write(Event(step=place, summary=Summary(value=values)))

    def close(self) -> None:
        """Close the event file; nothing can be added any more."""
        self._file.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()
        self._writer.write(event.SerializeToString())
        self._file.flush()


def mirror(metrics_jsonl: Path, directory: Path) -> TensorBoardMirror:
    """Rewrite the event files of a run from its metrics, so that a resumed run never shows a point twice.

    The mirror stays open for the records that follow.

    Args:
        metrics_jsonl: one record as in `TensorBoardMirror.add` per line; a missing file is a run without metrics.
        directory: its old event files are deleted; other files stay.

    Raises:
        JournalDamaged: a line cannot be read.
        MetricsError: a line is not a record of metrics. In either case the old event files are left as they are.
    """
    records = list(_read_records(metrics_jsonl)) if metrics_jsonl.exists() else []
    for old in directory.iterdir() if directory.exists() else ():
        if OWN_FILE.fullmatch(old.name) and not old.is_symlink():
            old.unlink()
    writer = TensorBoardMirror(directory)
    for record in records:
        writer.add(record)
    return writer


def _read_records(metrics_jsonl: Path) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(read_journal(metrics_jsonl), start=1):
        _check(record, f"{metrics_jsonl.name}, line {number},")
        yield record


class OptionalMirror:
    """A mirror that a run can do without: where it cannot be written, it says so once and the run goes on.

    Args:
        metrics_jsonl: what was logged before.
        directory: of the event files.
        warn: called with a message if they cannot be written.
    """

    def __init__(self, metrics_jsonl: Path, directory: Path, warn: Callable[[str], None]) -> None:
        self._directory, self._warn = directory, warn
        self._writer: TensorBoardMirror | None = None
        try:
            self._writer = mirror(metrics_jsonl, directory)
        except (OSError, EvadeError) as error:
            self._give_up(error)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add one record, if possible."""
        try:
            if self._writer is not None:
                self._writer.add(record)
        except OSError as error:
            self.close()
            self._give_up(error)

    def close(self) -> None:
        """Close the event file."""
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._warn(
            f"TensorBoard's events in {self._directory} cannot be written ({error}): the run goes on without them. "
            f"They are made again from metrics.jsonl when it is resumed."
        )


def _check(record: Any, place: str) -> None:
    """Raise a `MetricsError` that names the place unless this is a record."""
    is_record = (
        isinstance(record, Mapping)
        and isinstance(record.get("iteration"), int)
        and isinstance(record.get("phase"), str)
        and isinstance(record.get("step"), int)
        and isinstance(record.get("values"), Mapping)
        and all(isinstance(value, int | float) for value in record["values"].values())
    )
    if not is_record:
        raise MetricsError(
            f"{place} is not a record of metrics: {json.dumps(record, default=repr)[:80]}. "
            'It needs "iteration", "phase", "step" and "values" of numbers.'
        )
