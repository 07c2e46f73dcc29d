"""Reads of files that somebody else may have written. No torch here.

Only regular files are read. A link is refused, because it may lead out of the folder; a pipe or device, because it may
never end; and a file that is larger than expected, because it may not fit in memory.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from evade.errors import UnreadableFile

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Without waiting, so that a pipe without a writer is seen to be one; regular files do not change by this flag."""


def open_descriptor(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file as a descriptor; with write flags it must not have a second name either.

    Args:
        path: the file. Links in the folders above it are followed; `RunFolder.check` refuses those in a run.
        flags: as for `os.open`.

    Raises:
        FileNotFoundError: there is none, and `O_CREAT` is not among the flags.
        UnreadableFile: it is a link, a folder, a pipe, ..., or has a second name that writing would change too.
        OSError: the system does not let us.
    """
    try:
        descriptor = os.open(path, flags | _FLAGS, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise UnreadableFile(_not_regular(path)) from None
        raise
    status = os.fstat(descriptor)
    is_written = flags & (os.O_WRONLY | os.O_RDWR) != 0
    if not stat.S_ISREG(status.st_mode) or (is_written and status.st_nlink > 1):
        os.close(descriptor)
        raise UnreadableFile(_not_regular(path))
    return descriptor


def open_regular(path: Path, flags: int = os.O_RDONLY) -> BinaryIO:
    """Open a regular file, unbuffered; arguments and errors as in `open_descriptor`."""
    is_written = flags & (os.O_WRONLY | os.O_RDWR) != 0
    return os.fdopen(open_descriptor(path, flags), "r+b" if is_written else "rb", buffering=0)


def read_regular(path: Path, largest: int) -> bytes:
    """All bytes of a regular file of at most `largest` bytes.

    Raises:
        UnreadableFile: it is missing, not a regular file, or larger; the message names it.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            # One byte more than expected shows a file that grows meanwhile.
            data = b"" if size > largest else _read_all(file, largest + 1)
    except FileNotFoundError:
        raise UnreadableFile(f"{path} is missing.") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error.strerror or error}).") from None
    if max(size, len(data)) > largest:
        raise UnreadableFile(f"{path} has {max(size, len(data)):,} bytes; at most {largest:,} are expected.")
    return data


def _read_all(file: BinaryIO, most: int) -> bytes:
    parts = []
    while most > 0 and (part := file.read(min(most, 1 << 24))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _not_regular(path: Path) -> str:
    mode = path.lstat().st_mode if os.path.lexists(path) else 0
    kinds = ((stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"))
    found = next((name for holds, name in kinds if holds(mode)), None)
    if found is None:
        found = "a file with a second name (a hard link)" if stat.S_ISREG(mode) else "not a file"
    return f"{path} is {found}: must be a regular file. Put a copy of the file there."
