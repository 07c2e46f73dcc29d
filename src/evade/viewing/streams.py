"""A terminal or pipe that a run can do without."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeVar

T = TypeVar("T")


class ForgivingStream:
    """A text stream whose reader may go away, as in `evade train | head -1`: what follows is dropped, not an error.

    Args:
        stream: the one to write to.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._is_lost = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, as long as somebody reads."""
        return self._attempt(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        """Flush, as long as somebody reads."""
        self._attempt(self._stream.flush, None)

    def _attempt(self, work: Callable[[], T], otherwise: T) -> T:
        if self._is_lost:
            return otherwise
        try:
            return work()
        except (OSError, ValueError):  # ValueError: the stream was closed
            self._is_lost = True
            _redirect_to_nothing(self._stream)
            return otherwise


def _redirect_to_nothing(stream: IO[str]) -> None:
    """Let what is buffered, and what others print to the same place, go nowhere instead of failing again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
