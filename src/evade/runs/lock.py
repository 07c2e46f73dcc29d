"""One process at a time works on a run. No torch here.

The lock is `flock`, which Linux and macOS have. Elsewhere no run can be trained; everything that only reads runs works.
"""

import importlib.util
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from evade.errors import LockUnsupported, RunLocked, UnreadableFile
from evade.guarded import open_descriptor, read_regular
from evade.runs.files import decode_json, encode_json, storage_errors

_held: set[int] = set()
"""Descriptors of the locks this process holds."""


LARGEST_HOLDER = 1 << 12
"""Bytes of the holder's name; about a hundred are written."""


def _let_go_in_child() -> None:
    # A forked child shares its parent's lock and would keep it alive after the parent's death.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


class RunLock:
    """Holds a run for this process while its `with` block runs.

    The operating system keeps the lock, so it is free the moment its holder ends, however it ends. The file stays;
    it names the holder in JSON (pid, host, start time) and is empty after an orderly end.

    Args:
        path: the lock file; made if missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            RunLocked: another process has it; the message names its pid and host.
            LockUnsupported: this system has no `flock`.
        """
        if importlib.util.find_spec("fcntl") is None:
            raise LockUnsupported(
                f"{self.path.parent} cannot be locked: {platform.system()} has no flock. Train on Linux or macOS; "
                f"on Windows, inside WSL."
            )
        with storage_errors(self.path, 0):
            # Its content is replaced, so a link would let another file be emptied.
            descriptor = open_descriptor(self.path, os.O_RDWR | os.O_CREAT)
        try:
            self._take(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        _held.add(descriptor)
        return self

    def _take(self, descriptor: int) -> None:
        import fcntl

        holder = encode_json({"pid": os.getpid(), "host": platform.node(), "started": datetime.now(UTC).isoformat()})
        with storage_errors(self.path, len(holder)):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._refusal() from None
            os.ftruncate(descriptor, 0)
            os.write(descriptor, holder)
            os.fsync(descriptor)

    def _refusal(self) -> RunLocked:
        holder = _read_holder(self.path)
        pid, host, started = (holder.get(key, "unknown") for key in ("pid", "host", "started"))
        return RunLocked(
            f"{self.path.parent} is in use by process {pid} on {host} (started {started}): wait for it to end, stop "
            f"it, or choose another run."
        )

    def __exit__(self, *_: object) -> None:
        """Let go of the lock; nothing to do in a forked child, which never had it."""
        if self._descriptor in _held:
            _held.remove(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
        self._descriptor = -1


def _read_holder(path: Path) -> dict[str, Any]:
    """Who holds the lock; a holder that has only just taken it is given a moment to write its name."""
    for _ in range(20):
        try:
            holder = decode_json(read_regular(path, LARGEST_HOLDER))
        except (UnreadableFile, ValueError):
            time.sleep(0.05)
        else:
            return holder if isinstance(holder, dict) else {}
    return {}


def is_held(path: Path) -> bool:
    """Whether a process holds the lock now; False if that cannot be found out."""
    if importlib.util.find_spec("fcntl") is None:
        return False
    import fcntl

    try:
        descriptor = open_descriptor(path)
    except (OSError, UnreadableFile):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
