"""The names of everything inside a run folder; nothing else builds these paths. No torch here."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evade.errors import RunError
from evade.runs.files import make_folder

CONFIG_NAME = "config.json"
"""A folder that holds this file is a run."""

FOLDERS = ("checkpoints", "replay", "media", "tensorboard", "post_mortem")
"""The folders in a run folder."""

LEASE = "lease"
"""One more folder, of a run that was trained on a cluster."""

FILES = (
    *("config.json", "environment.txt", "status.json", "metrics.jsonl", "scores.jsonl", "timing.jsonl"),
    *("inspection.json", "lock"),
)
"""The files in a run folder. Anything else there is somebody else's: it is neither read nor removed."""

VIDEO = re.compile(r"[^.\x00-\x1f][^\x00-\x1f]*\.mp4")
"""The names of videos in `media`."""

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

    def has(self, path: Path) -> bool:
        """Whether something of this name is in the folder, be it a broken link.

        Raises:
            RunError: the folder cannot be looked into.
        """
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError) as error:
            raise RunError(f"{self.path} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
        return True

    def check(self) -> None:
        """Refuse a run folder in which something is not what its name says.

        A run folder may come from anywhere. A link in it could lead what we read, write or remove to another place.

        Raises:
            RunError: one of `FOLDERS` is a link or not a folder, or one of `FILES` is not a regular file.
        """
        for names, holds, kind in (
            ((*FOLDERS, LEASE), stat.S_ISDIR, "a folder"),
            (FILES, stat.S_ISREG, "a regular file"),
        ):
            for path in (self.path / name for name in names):
                if self.has(path) and not holds(path.lstat().st_mode):
                    found = "a link" if path.is_symlink() else f"not {kind}"
                    raise RunError(
                        f"{path} is {found}: must be {kind} of the run's own. Nothing was changed. Put a copy there."
                    )

    def videos(self) -> list[Path]:
        """The videos in `media`, by name; links and unfinished files are not among them."""
        found = self.media.iterdir() if self.has(self.media) and not self.media.is_symlink() else ()
        return sorted(path for path in found if VIDEO.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode))

    def create(self) -> None:
        """Make the run folder and the folders in it; those already there stay as they are."""
        for name in FOLDERS:
            make_folder(self.path / name)


def ignore_warning(message: str) -> None:
    """Do nothing: for callers that do not show warnings."""


def find_runs(runs_dir: Path, warn: Callable[[str], None] = ignore_warning) -> list[RunFolder]:
    """All runs in `runs_dir` (itself, or up to five folders below), sorted by path.

    Links are not followed and runs are not looked for inside runs. A folder that does not exist holds no run. A folder
    with checkpoints and replay is a run too, so that one without its settings is not overlooked.

    Args:
        runs_dir: where to look.
        warn: called with a message for every folder that cannot be read.
    """

    def on_error(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            warn(f"{error.filename} cannot be searched for runs ({error.strerror}).")

    found = []
    for place, folders, files in os.walk(runs_dir, onerror=on_error):
        depth = len(Path(place).relative_to(runs_dir).parts)
        is_run = CONFIG_NAME in files or {"checkpoints", "replay"} <= set(folders)
        if is_run:
            found.append(RunFolder(Path(place)))
        if is_run or depth == DEEPEST_RUN:
            folders.clear()
    return sorted(found, key=lambda run: run.path)
