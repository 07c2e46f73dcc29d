"""One machine at a time works on a run, on file systems whose locks do not reach other machines. No torch here.

A lease is a small file that its owner keeps rewriting. Who finds one that has not changed for its whole term takes the
next number, by creating the next file, which only one process can do (exclusive creation is atomic on NFS too). An
owner that could not renew its lease for half a term must stop before anybody else may begin. Terms are measured by
each machine's own clock between two looks, so clocks need not agree.
"""

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from platform import node
from typing import Any, Self
from uuid import uuid4

from evade.errors import RunLocked
from evade.runs.files import decode_json, encode_json, make_folder

TERM_SECONDS = 60.0
"""How long a lease is good for without being renewed; more than a file server's usual hiccup."""
LOOKS_PER_TERM = 12
"""How often an owner renews its lease in a term, and how often one who waits looks at it."""
PATIENCE = 3.0
"""Terms after which one who waits gives up, because the owner is alive."""


@dataclass(frozen=True)
class _Seen:
    """What a look at the newest lease found."""

    number: int
    record: dict[str, Any]

    @property
    def is_free(self) -> bool:
        """Whether its owner has let go of it; number 0 stands for no lease at all."""
        return self.number == 0 or self.record.get("free") is True


class Lease:
    """Holds a folder for this process while its `with` block runs, in which `check` must be called all the time.

    A thread renews the lease, so that storage that hangs does not keep the owner from noticing that its time is up.

    Args:
        folder: of the lease files; made if missing.
        term: seconds that the lease is good for. All who work on the folder should use the same.
    """

    def __init__(self, folder: Path, term: float = TERM_SECONDS) -> None:
        self._folder, self._term = folder, term
        self._owner, self._number, self._count = uuid4().hex, 0, 0
        self._renewed = 0.0
        self._is_taken = False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._keep_renewing, daemon=True, name="lease")

    def __enter__(self) -> Self:
        """Take the lease, after waiting for one that may have lapsed.

        Raises:
            RunLocked: its owner renews it; the message names the owner.
            StorageError: the folder cannot be made.
        """
        make_folder(self._folder)
        gives_up = time.monotonic() + PATIENCE * self._term
        seen, since = self._look(), time.monotonic()
        while not self._claim(seen, time.monotonic() - since):
            if time.monotonic() > gives_up:
                pid, host = (seen.record.get(key, "unknown") for key in ("pid", "host"))
                raise RunLocked(f"{self._folder.parent} is in use by process {pid} on {host}, which renews its lease.")
            time.sleep(self._term / LOOKS_PER_TERM)
            now = self._look()
            if now != seen:
                seen, since = now, time.monotonic()
        self._thread.start()
        return self

    def _claim(self, seen: _Seen, unchanged: float) -> bool:
        """Take the next number if the newest lease is free or has lapsed; False if not, or if another was faster."""
        if not seen.is_free and unchanged < float(seen.record.get("term", self._term)):
            return False
        try:
            os.close(os.open(self._path(seen.number + 1), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        except FileExistsError:
            return False
        self._number = seen.number + 1
        for number in self._numbers():
            if number < self._number:
                self._path(number).unlink(missing_ok=True)
        self._write(is_free=False)
        return True

    def check(self) -> None:
        """Make sure that the lease is still good.

        Raises:
            RunLocked: it could not be renewed for half a term, or another process took it; stop at once.
        """
        if self._is_taken:
            raise RunLocked(f"another process took the lease on {self._folder.parent}.")
        if time.monotonic() - self._renewed > self._term / 2:
            raise RunLocked(f"the lease on {self._folder.parent} could not be renewed in time.")

    def _keep_renewing(self) -> None:
        while not self._ending.wait(self._term / LOOKS_PER_TERM):
            with suppress(OSError):  # if it goes on, `check` says so
                self._is_taken = self._is_taken or max(self._numbers(), default=0) > self._number
                if not self._is_taken:
                    self._write(is_free=False)

    def __exit__(self, *_: object) -> None:
        """Let go, unless another process has taken over."""
        self._ending.set()
        self._thread.join(self._term)
        with suppress(OSError):  # the storage is gone: the lease will lapse
            if not self._thread.is_alive() and max(self._numbers(), default=0) == self._number:
                self._write(is_free=True)

    def _write(self, *, is_free: bool) -> None:
        """Rewrite the file in place: a file server shows that at once, but a new name perhaps a minute later."""
        started = time.monotonic()
        self._count += 1
        record = {
            "owner": self._owner,
            "count": self._count,
            "term": self._term,
            "free": is_free,
            "pid": os.getpid(),
            "host": node(),
        }
        descriptor = os.open(self._path(self._number), os.O_WRONLY)
        try:
            data = encode_json(record, indent=None)
            os.write(descriptor, data)
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._renewed = started

    def _look(self) -> _Seen:
        number = max(self._numbers(), default=0)
        try:
            record = decode_json(self._path(number).read_bytes()) if number else {}
        except (OSError, ValueError):
            record = {}  # being written, or its owner died before its first word: it must lapse
        return _Seen(number, record if isinstance(record, dict) else {})

    def _numbers(self) -> list[int]:
        return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}"
