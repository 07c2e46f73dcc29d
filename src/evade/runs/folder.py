"""The names of everything inside a run folder; nothing else builds these paths. No torch here."""

import os
from dataclasses import dataclass
from pathlib import Path

from evade.runs.files import make_folder

CONFIG_NAME = "config.json"
"""A folder that holds this file is a run."""

DEEPEST_RUN = 5
"""How many folders below the runs folder a run is looked for: domain, game, variant and seed need four."""


@dataclass(frozen=True)
class RunFolder:
    """One run's folder; the properties name what is in it, whether or not it is there yet."""

    path: Path
    """The folder itself."""

    @property
    def config(self) -> Path:
        """Every setting of the run."""
        return self.path / CONFIG_NAME

    @property
    def status(self) -> Path:
        """Where the run stands."""
        return self.path / "status.json"

    @property
    def metrics(self) -> Path:
        """Journal of what was measured while training."""
        return self.path / "metrics.jsonl"

    @property
    def scores(self) -> Path:
        """Journal of evaluated episodes, raw."""
        return self.path / "scores.jsonl"

    @property
    def timing(self) -> Path:
        """Journal of wall-clock times; the only record that differs between two runs of one config."""
        return self.path / "timing.jsonl"

    @property
    def inspection(self) -> Path:
        """What event layers and draws make of one frame, as numbers; of a finished run that has event layers."""
        return self.path / "inspection.json"

    @property
    def environment(self) -> Path:
        """The versions and the machine the run was made with."""
        return self.path / "environment.txt"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the run."""
        return self.path / "lock"

    @property
    def checkpoints(self) -> Path:
        """Folder of checkpoints, one folder each."""
        return self.path / "checkpoints"

    @property
    def replay(self) -> Path:
        """Folder of real experience."""
        return self.path / "replay"

    @property
    def media(self) -> Path:
        """Folder of pictures and videos."""
        return self.path / "media"

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard events."""
        return self.path / "tensorboard"

    @property
    def post_mortem(self) -> Path:
        """Folder of what was known when training diverged; empty in a healthy run."""
        return self.path / "post_mortem"

    def create(self) -> None:
        """Make the run folder and the folders in it; those already there stay as they are."""
        for folder in (self.checkpoints, self.replay, self.media, self.tensorboard, self.post_mortem):
            make_folder(folder)


def find_runs(runs_dir: Path) -> list[RunFolder]:
    """All runs in `runs_dir` (itself, or up to five folders below), sorted by path.

    Links are not followed and runs are not looked for inside runs. A folder that does not exist holds no run.
    """
    found = []
    for place, folders, files in os.walk(runs_dir):
        depth = len(Path(place).relative_to(runs_dir).parts)
        if CONFIG_NAME in files:
            found.append(RunFolder(Path(place)))
        if CONFIG_NAME in files or depth == DEEPEST_RUN:
            folders.clear()
    return sorted(found, key=lambda run: run.path)
