"""When a run saves, and how it comes back."""

import time
from collections.abc import Callable
from typing import Any

from evade.errors import NoUsableCheckpoint, RunError, UnreadableFile
from evade.interfaces import Network
from evade.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from evade.runs.folder import RunFolder
from evade.runs.journal import Extent
from evade.runs.logbook import COMMITTED, Committed, Logbook, check_committed, salvage_metrics, size_of
from evade.training.state import TrainState

OTHER_PARTS = 1 << 28
"""Bytes for everything in a checkpoint but weights and moments: generators, draws, values, what a learner keeps."""

COPIES = 8
"""Times the weights that a checkpoint may hold: themselves, up to two moments, draws, and room for other optimisers."""


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
        self._salvages = False
        self._saved_at = time.monotonic()

    def restore(self, state: TrainState) -> bool:
        """Bring a new state to the newest usable checkpoint and cut the journals back to it; False if there is none."""
        checkpoint = self._load(state, COMMITTED)
        if checkpoint is None:
            if size_of(self._folder.metrics):
                raise RunError(
                    f"{self._folder.path} has metrics but no checkpoint to continue from: restore the folder "
                    f"{self._folder.checkpoints}, or remove the whole run to start again."
                )
            self.logbook = Logbook(self._folder, {}, self._warn)
            return False
        state.restore(checkpoint.tensors, checkpoint.state.get("parts", {}))
        self.logbook = Logbook(self._folder, self._committed_by(checkpoint), self._warn)
        self._number = checkpoint.number
        return True

    def _load(self, state: TrainState, journals: tuple[str, ...]) -> Checkpoint | None:
        """The newest checkpoint that the journals fit; an older one leads to the same end as the newest."""
        largest = largest_checkpoint(state.policy, state.world_model)

        def fits(checkpoint: Checkpoint) -> None:
            check_committed(self._folder, committed_by(checkpoint), journals)

        try:
            return load_checkpoint(self._folder.checkpoints, self._warn, largest=largest, fits=fits)
        except NoUsableCheckpoint:
            if journals != COMMITTED:
                raise
            # Training does not need its metrics; with those that are left it can go on.
            self._salvages = True
            return self._load(state, ("scores",))

    def _committed_by(self, checkpoint: Checkpoint) -> Committed:
        committed = committed_by(checkpoint)
        if not self._salvages:
            return committed
        return {**committed, "metrics": salvage_metrics(self._folder, committed["metrics"], self._warn)}

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is older than `save_seconds`."""
        return time.monotonic() - self._saved_at > self._save_seconds

    def save(self, state: TrainState) -> None:
        """Write a checkpoint; metrics and scores up to here become part of it."""
        committed = {name: extent.document() for name, extent in self.logbook.commit().items()}
        values = {"parts": state.values(), "committed": committed}
        self._number += 1
        save_checkpoint(self._folder.checkpoints, self._number, state.tensors(), values)
        self._saved_at = time.monotonic()


def largest_checkpoint(*networks: Network) -> int:
    """Bytes that a checkpoint of these networks has at most; what is larger was not written by us."""
    weights: int = sum(tensor.nbytes for network in networks for tensor in network.state_dict().values())
    return COPIES * weights + OTHER_PARTS


def committed_by(checkpoint: Checkpoint) -> dict[str, Extent]:
    """How much of each journal belongs to a checkpoint.

    Raises:
        UnreadableFile: it does not say so.
    """
    committed: Any = checkpoint.state.get("committed")
    if not isinstance(committed, dict) or committed.keys() != set(COMMITTED):
        raise UnreadableFile(f"{checkpoint.path} does not say how much of {' and '.join(COMMITTED)} belongs to it.")
    return {name: Extent.read(value, f"{checkpoint.path}, {name}") for name, value in committed.items()}
