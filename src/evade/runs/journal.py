"""Append-only JSON lines whose committed part a checkpoint remembers by its length and hash. No torch here.

A resumed run cuts its journals to the length its checkpoint holds and writes the rest again, so no record is lost and
none is doubled. The hash shows whether what is left is what was written.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from evade.checks import fits_type
from evade.errors import JournalDamaged, UnreadableFile
from evade.guarded import open_regular, read_regular
from evade.runs.files import decode_json, encode_json, storage_errors, sync_folder

LARGEST_JOURNAL = 1 << 28
"""Bytes; the journals of a run of the paper's size have some millions."""

LARGEST_LINE = 1 << 20
"""Bytes of one record; those we write have some hundreds."""


class Extent(NamedTuple):
    """A journal from its beginning to the end of some record."""

    size: int
    """Bytes."""
    sha256: str | None
    """Of these bytes; None in checkpoints of earlier versions, which only have the size."""

    @classmethod
    def read(cls, value: Any, place: str) -> Self:
        """What a document says.

        Raises:
            UnreadableFile: it says something else; the message names the place.
        """
        size, sha256 = value, None
        if isinstance(value, dict) and value.keys() == {"size", "sha256"}:
            size, sha256 = value["size"], value["sha256"]
        if not fits_type(size, int) or size < 0 or not fits_type(sha256, str | None):
            raise UnreadableFile(f"{place} = {value!r:.80} is not the size and SHA-256 of a journal.")
        return cls(size, sha256)

    def document(self) -> dict[str, Any]:
        """The same as a JSON value."""
        return self._asdict()


NOTHING = Extent(0, hashlib.sha256().hexdigest())
"""A journal before its first record."""


class Journal:
    """A file of records, one JSON object a line, open for appending.

    Args:
        path: the file; made if missing.
        committed: what `commit` returned when the checkpoint was saved. What follows is cut off.

    Raises:
        JournalDamaged: the file does not begin with what was committed; it is not changed.
        UnreadableFile: it is a link, or not a regular file.
    """

    def __init__(self, path: Path, committed: Extent = NOTHING) -> None:
        self.path = path
        self._hash = hash_committed(path, committed)
        with storage_errors(path, 0):
            self._file = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.ftruncate(self._file.fileno(), committed.size)
            sync_folder(path.parent)
        self._length = committed.size

    @property
    def extent(self) -> Extent:
        """All records so far."""
        return Extent(self._length, self._hash.hexdigest())

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record. Readers see it at once; it survives a crash only after `commit` and a checkpoint."""
        line = encode_json(dict(record), indent=None)
        with storage_errors(self.path, len(line)):
            try:
                _write_all(self._file.fileno(), line)
            except OSError:
                os.ftruncate(self._file.fileno(), self._length)
                raise
        self._length += len(line)
        self._hash.update(line)

    def commit(self) -> Extent:
        """Force all records to the disk and return their extent, to be stored in the checkpoint."""
        with storage_errors(self.path, 0):
            os.fsync(self._file.fileno())
        return self.extent

    def close(self) -> None:
        """Close the file; nothing is committed by that."""
        self._file.close()


def hash_committed(path: Path, committed: Extent) -> Any:
    """The running hash of a journal's committed part, after it was found unchanged.

    Raises:
        JournalDamaged: the file is shorter, or begins with something else.
        UnreadableFile: it is a link, or not a regular file.
    """
    running, last = hashlib.sha256(), b"\n"
    if committed.size == 0:
        return running
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < committed.size:
                raise JournalDamaged(_explain(path, committed, f"it has {size:,}"))
            for block in _blocks(file, committed.size):
                running.update(block)
                last = block[-1:]
    except OSError as error:
        raise JournalDamaged(_explain(path, committed, str(error))) from None
    if last != b"\n":
        raise JournalDamaged(_explain(path, committed, "no record ends there"))
    if committed.sha256 is not None and running.hexdigest() != committed.sha256:
        raise JournalDamaged(_explain(path, committed, "their SHA-256 is another one: they were changed"))
    return running


def _blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (block := file.read(min(size, 1 << 20))):
        size -= len(block)
        yield block


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal, first to last; a last line without its end is being written and is left out.

    Raises:
        UnreadableFile: there is no such file, or it is not a regular file of a journal's size.
        JournalDamaged: a line cannot be read.
    """
    for number, line in enumerate(_lines(read_regular(path, LARGEST_JOURNAL)), start=1):
        yield _decode_record(path, number, line)


def salvage_records(data: bytes) -> tuple[bytes, int]:
    """The lines of a damaged journal that are records still, and the number of those that are not."""
    kept, lost = [], 0
    for number, line in enumerate(_lines(data + b"\n" if data and not data.endswith(b"\n") else data), start=1):
        try:
            _decode_record(Path(), number, line)
        except JournalDamaged:
            lost += 1
        else:
            kept.append(line)
    return b"".join(kept), lost


def _lines(data: bytes) -> Iterator[bytes]:
    """Whole lines. Only a line break ends one: a record's text may hold what Python counts as other breaks."""
    begin = 0
    while (end := data.find(b"\n", begin)) >= 0:
        yield data[begin : end + 1]
        begin = end + 1


def _decode_record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        if len(line) > LARGEST_LINE:
            raise ValueError(f"it has {len(line):,} bytes")
        record = decode_json(line)
    except ValueError as error:
        raise JournalDamaged(
            f"line {number} of {path} is damaged ({error}): restore the file from a copy, or leave this run out."
        ) from None
    if not isinstance(record, dict):
        raise JournalDamaged(f"line {number} of {path} is {record!r:.50}, not a record: restore the file from a copy.")
    return record


def _explain(path: Path, committed: Extent, finding: str) -> str:
    return (
        f"{path} does not fit the checkpoint, which holds {committed.size:,} bytes of it ({finding}): restore the file "
        f"from a copy, or start a new run in another folder."
    )


def _write_all(descriptor: int, data: bytes) -> None:
    # A nearly full disk takes a part of the bytes and says so only by the count.
    while data:
        data = data[os.write(descriptor, data) :]
