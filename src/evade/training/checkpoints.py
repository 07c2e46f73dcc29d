"""When a run saves, and how it comes back."""

import time
from collections.abc import Callable

from evade.errors import RunError
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.folder import RunFolder
from evade.runs.logbook import Logbook, size_of
from evade.training.state import TrainState


class Checkpoints:
    """The checkpoints of a run, and the journals whose length each of them fixes.

    Args:
        folder: the run's folder.
        save_seconds: longest time between two checkpoints inside a long phase.
        warn: called with a message for every damaged checkpoint that is skipped.
    """

    def __init__(self, folder: RunFolder, save_seconds: float, warn: Callable[[str], None]) -> None:
        self.logbook: Logbook
        self._folder, self._save_seconds, self._warn = folder, save_seconds, warn
        self._number = 0
        self._saved_at = time.monotonic()

    def restore(self, state: TrainState) -> bool:
        """Bring a new state to the newest usable checkpoint and cut the journals back to it; False if there is none."""
        checkpoint = load_checkpoint(self._folder.checkpoints, self._warn)
        if checkpoint is None:
            if size_of(self._folder.metrics):
                raise RunError(
                    f"{self._folder.path} has metrics but no checkpoint to continue from: restore the folder "
                    f"{self._folder.checkpoints}, or remove the whole run to start again."
                )
            self.logbook = Logbook(self._folder, {})
            return False
        state.restore(checkpoint.tensors, checkpoint.state.get("parts", {}))
        self.logbook = Logbook(self._folder, checkpoint.state["committed"])
        self._number = checkpoint.number
        return True

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is older than `save_seconds`."""
        return time.monotonic() - self._saved_at > self._save_seconds

    def save(self, state: TrainState) -> None:
        """Write a checkpoint; metrics and scores up to here become part of it."""
        values = {"parts": state.values(), "committed": dict(self.logbook.commit())}
        self._number += 1
        save_checkpoint(self._folder.checkpoints, self._number, state.tensors(), values)
        self._saved_at = time.monotonic()
