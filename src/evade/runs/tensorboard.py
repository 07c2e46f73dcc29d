"""Metrics for TensorBoard: a mirror of metrics.jsonl that can be deleted and written again at any time."""

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


class TensorBoardMirror:
    """Writes records of metrics as TensorBoard's scalars, named phase/name, over the record's step.

    Every record reaches the system as soon as it is added, so that TensorBoard shows it at once.

    Args:
        directory: made when missing. The new event file is read after those already there.
    """

    def __init__(self, directory: Path) -> None:
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
        scalars = [
            Summary.Value(tag=f"{record['phase']}/{name}", simple_value=value)
            for name, value in record["values"].items()
        ]
        self._write(Event(step=record["step"], summary=Summary(value=scalars)))

    def close(self) -> None:
        """Close the event file; nothing can be added any more."""
        self._file.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()
        self._writer.write(event.SerializeToString())
        self._file.flush()


def mirror(metrics_jsonl: Path, directory: Path) -> None:
    """Rewrite the event files of a run from its metrics, so that a resumed run never shows a point twice.

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
    with TensorBoardMirror(directory) as writer:
        for record in records:
            writer.add(record)


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
            mirror(metrics_jsonl, directory)
            self._writer = TensorBoardMirror(directory)
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
