"""Metrics for TensorBoard: a mirror of metrics.jsonl that can be deleted and written again at any time."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from evade.errors import MetricsError

PATTERN = "*tfevents*"
"""What TensorBoard takes for its own in a folder, and therefore what `mirror` deletes."""


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
        self._write(Event(file_version="brain.Event:2"))

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
        MetricsError: a line is not a record; the old event files are left as they are.
    """
    records = list(_read_records(metrics_jsonl)) if metrics_jsonl.exists() else []
    for old in directory.glob(PATTERN):
        old.unlink()
    with TensorBoardMirror(directory) as writer:
        for record in records:
            writer.add(record)


def _read_records(metrics_jsonl: Path) -> Iterator[dict[str, Any]]:
    with metrics_jsonl.open() as lines:
        for number, line in enumerate(lines, start=1):
            place = f"{metrics_jsonl.name}, line {number},"
            try:
                record = json.loads(line)
            except ValueError as error:
                raise MetricsError(f"{place} is not JSON ({error}): {line.strip()[:80]!r}. Remove the line.") from error
            _check(record, place)
            yield record


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
