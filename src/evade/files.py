"""Files that appear whole or not at all: written beside their place, then renamed into it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A draft beside `path` to write to; it takes the final name when the block ends well, else it is removed.

    The draft keeps the ending of `path`, because many writers choose the format by it. The folder is made.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.stem}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        _flush(draft)
        draft.replace(path)
        _flush(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Make the disk hold what the system was told; without it a rename can outlive the bytes in a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
