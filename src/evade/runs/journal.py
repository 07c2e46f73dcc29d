"""Append-only JSON lines whose committed length a checkpoint remembers. No torch here.

A resumed run cuts its journals to the length its checkpoint holds and writes the rest again, so no record is lost and
none is doubled.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evade.errors import JournalDamaged, UnreadableFile
from evade.runs.files import decode_json, encode_json, storage_errors, sync_folder


class Journal:
    """A file of records, one JSON object a line, open for appending.

    Args:
        path: the file; made if missing.
        committed: what `commit` returned when the checkpoint was saved, 0 for a new run. What follows is cut off.

    Raises:
        JournalDamaged: the file is shorter than `committed`, or a record crosses that length.
    """

    def __init__(self, path: Path, committed: int) -> None:
        assert committed >= 0
        self.path = path
        _check_committed(path, committed)
        with storage_errors(path, 0):
            path.touch()
            os.truncate(path, committed)
            sync_folder(path.parent)
            self._file = path.open("ab", buffering=0)
        self._length = committed

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record. Readers see it at once; it survives a crash only after `commit` and a checkpoint."""
        line = encode_json(dict(record), indent=None)
        with storage_errors(self.path, len(line)):
            try:
                _write_all(self._file.fileno(), line)
            except OSError:
                self._file.truncate(self._length)
                raise
        self._length += len(line)

    def commit(self) -> int:
        """Force all records to the disk and return the length in bytes, to be stored in the checkpoint."""
        with storage_errors(self.path, 0):
            os.fsync(self._file.fileno())
        return self._length

    def close(self) -> None:
        """Close the file; nothing is committed by that."""
        self._file.close()


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal, first to last; a last line without its end is being written and is left out.

    Raises:
        UnreadableFile: there is no such file.
        JournalDamaged: a line cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield _decode_record(path, number, line)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error}).") from None


def _decode_record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = decode_json(line)
    except ValueError as error:
        raise JournalDamaged(f"line {number} of {path} is damaged ({error}): remove or repair that line.") from None
    if not isinstance(record, dict):
        raise JournalDamaged(f"line {number} of {path} is {record!r:.50}, not a record: remove that line.")
    return record


def _check_committed(path: Path, committed: int) -> None:
    if committed == 0:
        return
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(min(committed, size) - 1 if size else 0)
            last = file.read(1)
    except OSError as error:
        raise JournalDamaged(_explain(path, committed, str(error))) from None
    if size < committed:
        raise JournalDamaged(_explain(path, committed, f"it has {size:,}"))
    if last != b"\n":
        raise JournalDamaged(_explain(path, committed, "no record ends there"))


def _explain(path: Path, committed: int, finding: str) -> str:
    return (
        f"{path} does not fit the checkpoint, which holds {committed:,} bytes of it ({finding}): restore the file from "
        f"a copy, or start a new run in another folder."
    )


def _write_all(descriptor: int, data: bytes) -> None:
    # A nearly full disk takes a part of the bytes and says so only by the count.
    while data:
        data = data[os.write(descriptor, data) :]
