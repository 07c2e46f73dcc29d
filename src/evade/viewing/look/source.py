"""A run folder that is looked at: what is loaded of it, and whether there is something newer. Nothing is written."""

import warnings
from collections.abc import Collection
from pathlib import Path

from evade.envs import names
from evade.envs.games import resolve
from evade.errors import EvadeError, LookError
from evade.runs.folder import RunFolder
from evade.training.load import LoadedRun, load_run
from evade.viewing.look.draws import Posterior
from evade.viewing.look.film import Film

DEMO = Path(__file__).parent / "demo"
"""The run that comes with the package."""


class RunSource:
    """The newest checkpoint of a run, shared by everybody who looks at it.

    Args:
        path: the run's folder.
        allow_import: modules that the run's game may import, as in `load_run`.
    """

    def __init__(self, path: Path, allow_import: Collection[str] = ()) -> None:
        self.folder = RunFolder(path)
        self._allow_import = allow_import
        self.run: LoadedRun
        self.posterior: Posterior
        self.film: Film
        self.checkpoint = ""
        """Name of the checkpoint that is loaded."""
        self._tried = self._newest()
        self._take(*self._load())
        self.title = resolve(self.run.config.game).title
        self.names = names(self.run.config.game, self.run.config.env)

    def refresh(self) -> None:
        """Load the newest checkpoint if it is another one and can be read.

        What is loaded stays, also if the folder has vanished: `evade train` removes checkpoints while we read them.
        """
        newest = self._newest()
        if newest in ("", self._tried):
            return
        self._tried = newest
        try:
            run, is_newest = self._load()
        except EvadeError:
            return
        if is_newest:
            self._take(run, is_newest)

    def check(self) -> None:
        """Raise a `LookError` if the folder is not there any more."""
        if not self.folder.config.is_file():
            raise LookError(
                f"{self.folder.path} cannot be read any more: what was loaded can still be looked at, until this page "
                "is closed."
            )

    def _load(self) -> tuple[LoadedRun, bool]:
        """The newest usable checkpoint, and whether it is the newest of all."""
        with warnings.catch_warnings(record=True) as skipped:
            warnings.simplefilter("always")
            run = load_run(self.folder.path, self._allow_import)
        return run, not skipped

    def _take(self, run: LoadedRun, is_newest: bool) -> None:
        self.run, self.checkpoint = run, self._tried if is_newest else f"before {self._tried}"
        self.posterior = Posterior(run.world_model, run.draw)
        self.film = Film(run)

    def _newest(self) -> str:
        try:
            found = [path.name for path in self.folder.checkpoints.iterdir() if path.name.isdigit()]
        except OSError:
            return ""
        return max(found, default="")
