"""Files that are whole or absent, and damage that has a name. No torch here.

Durable means: a file's bytes are on the disk before its name is, and its name before anybody relies on it (fsync the
file, rename it, fsync the folder).
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from evade.errors import NotStorable, StorageError, UnreadableFile
from evade.guarded import open_descriptor, read_regular

TEMPORARY = ".tmp-"
"""How the names of unfinished files and folders begin."""

LARGEST_DOCUMENT = 1 << 20
"""Bytes of a JSON document; those we write have some thousands."""

_LEFTOVER = re.compile(r"\.tmp-.*-[0-9a-f]{32}(\.[A-Za-z0-9]+)?")
"""The names that unfinished files and folders of ours have."""


def write_atomically(path: Path, data: bytes) -> None:
    """Replace or create a file durably; whoever looks sees the old bytes or the new ones, never a part.

    Raises:
        StorageError: it could not be written; no part of it is there.
    """
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{uuid4().hex}")
    with storage_errors(path, len(data)), removed_on_failure(temporary):
        write_durably(temporary, data)
        temporary.rename(path)
        sync_folder(path.parent)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A draft beside `path` for others to write to; it takes the final name when the block ends well, else it goes.

    The draft keeps the ending of `path`, because many writers choose the format by it. The folder is made.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{TEMPORARY}{path.stem}-{uuid4().hex}{path.suffix}")
    with removed_on_failure(draft):
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)


def write_json(path: Path, document: Any) -> None:
    """Write a document with `write_atomically`. Keys must be strings; tuples come back as lists."""
    write_atomically(path, encode_json(document))


def read_json(path: Path, largest: int = LARGEST_DOCUMENT) -> Any:
    """The document in a JSON file of at most `largest` bytes.

    Raises:
        UnreadableFile: it is missing, damaged or not a regular file.
    """
    data = read_regular(path, largest)
    try:
        return decode_json(data)
    except ValueError as error:
        raise UnreadableFile(f"{path} cannot be read ({error}): restore it from a copy, or start a new run.") from None


def sha256(path: Path) -> str:
    """The SHA-256 of a regular file's bytes, in hexadecimal.

    Raises:
        UnreadableFile: it is missing or the disk fails.
    """
    try:
        with open(open_descriptor(path), "rb") as file:  # noqa: PTH123 - a descriptor has no path
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error}).") from None


def encode_json(document: Any, indent: int | None = 2) -> bytes:
    """The document as UTF-8 JSON that ends with a line break; `indent=None` puts it on one line."""
    try:
        return (json.dumps(document, indent=indent, allow_nan=False, ensure_ascii=False) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorable(
            f"{document!r:.200} cannot be stored as JSON ({error}): use None where there is no number, and plain "
            f"Python values instead of arrays."
        ) from None


def decode_json(data: bytes) -> Any:
    """The document in JSON bytes; anything that is not strict JSON is a `ValueError`."""
    try:
        text = data.decode()
        document = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if "\\ud" in text.lower():
        # Half a surrogate pair is text that cannot be written again.
        json.dumps(document, ensure_ascii=False).encode()
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def make_folder(path: Path) -> None:
    """Make a folder and those above it where missing, durably."""
    with storage_errors(path, 0):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            sync_folder(folder.parent)


def write_durably(path: Path, data: bytes) -> None:
    """Write a new file and force its bytes to the disk; its name is durable after `sync_folder`."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Force a folder's list of names to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder. Call it only while holding the run's lock.

    Only names that we give are removed, and never a link.
    """
    for leftover in folder.iterdir() if folder.is_dir() else ():
        if _LEFTOVER.fullmatch(leftover.name) and not leftover.is_symlink():
            _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def removed_on_failure(path: Path) -> Iterator[None]:
    """Remove a file or folder if the block does not get to its end."""
    try:
        yield
    except BaseException:
        _remove(path)
        raise


@contextmanager
def storage_errors(path: Path, num_bytes: int) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` about `path`, which needs `num_bytes`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} could not be written ({error.strerror or error}){_advise(error, path, num_bytes)} The last "
            f"checkpoint is intact: run the same command again to resume."
        ) from error


def _advise(error: OSError, path: Path, num_bytes: int) -> str:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ": you may not write there. Change the permissions or choose another folder."
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG):
        return ": something else is in its place, or the name is too long. Choose another folder."
    return (
        f": {num_bytes:,} bytes were needed, {_free_bytes(path):,} are free on its disk. Free some space or repair the "
        f"disk."
    )


def _free_bytes(path: Path) -> int:
    nearest = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
    return shutil.disk_usage(nearest).free
