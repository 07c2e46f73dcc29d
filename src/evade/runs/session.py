"""One process at work on one run folder: the lock, the settings, requests to stop, and the status. No torch here."""

import json
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from evade.config import EVALUATION_VERSION, RunConfig, differences, fingerprint, from_document, to_document
from evade.config.document import recipe_fingerprint
from evade.config.presets import PRESETS, build_config
from evade.envs.games import PREPROCESSING_VERSION
from evade.errors import ConfigChanged, EvadeError, Interrupted, StorageError, TrainingDiverged
from evade.runs.documents import ConfigDocument, read_config, read_status, write_config, write_status
from evade.runs.files import read_json, remove_leftovers, write_atomically, write_json
from evade.runs.folder import FOLDERS, RunFolder
from evade.runs.lock import RunLock
from evade.vocabulary.variants import VARIANTS


def folder_of(config: RunConfig, runs_dir: Path, name: str | None = None) -> RunFolder:
    """Where a run lives: the same command always means the same folder, and other settings another one.

    Args:
        config: the settings; those of the preset itself need no addition to the variant's name.
        runs_dir: the folder above all runs.
        name: what to add to the variant's name; the settings' fingerprint if None and any differs from the preset's.
    """
    addition = name or ("" if _is_preset(config) else recipe_fingerprint(config))
    variant = f"{config.variant}-{addition}" if addition else config.variant
    game = config.game.replace("/", "-").replace(":", "-")
    return RunFolder(runs_dir / config.preset / game / variant / f"seed-{config.seed}")


def _is_preset(config: RunConfig) -> bool:
    """Whether the settings are those of a preset and variant, for some game and seed."""
    if config.preset not in PRESETS or config.variant not in VARIANTS:
        return False
    preset = build_config(config.preset, config.variant, config.game, config.seed)
    return recipe_fingerprint(preset) == recipe_fingerprint(config)


def saved_config(folder: RunFolder) -> RunConfig:
    """The settings a run was started with; nothing that they name is imported."""
    folder.check()
    return from_document(read_config(folder).settings)


MUST_MATCH = ("torch", "machine", "threads", "compile", "c++")
"""What of the environment must be the same for a resumed run to be bit for bit what it would have been."""


class Session:
    """Holds a run folder for this process. Use it in a `with` statement.

    Args:
        config: the settings asked for; those saved in the folder must agree (`differences`).
        folder: the run's folder, new or not.
        environment: versions and machine, written beside the settings.
        notify: shows a message to people.
    """

    def __init__(
        self, config: RunConfig, folder: RunFolder, environment: Mapping[str, Any], notify: Callable[[str], None]
    ) -> None:
        self.config, self.folder = config, folder
        self.should_stop = False
        """Whether a signal has asked this process to stop."""
        self.standing: dict[str, Any] = {}
        """Iteration, phase and real steps of the last checkpoint, as the status file shows them."""
        self.phase = ""
        """The current phase, for the report of a divergence."""
        self.closing = ExitStack()
        """What to close when the session ends."""
        self.is_finished = False
        """Whether the run was finished before this session; it stays so, whatever happens to this session."""
        self._environment, self._notify = environment, notify

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.folder.check()
            self.folder.create()
            opened.enter_context(RunLock(self.folder.lock))
            for name in ("", *FOLDERS):
                remove_leftovers(self.folder.path / name)
            self._agree_on_settings()
            self._recall_status()
            self._listen_to_signals(opened)
            self.closing = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A full disk may be why we are here; it must not hide the reason.
        with self.closing, suppress(StorageError):
            if isinstance(error, TrainingDiverged):
                report = {"error": str(error), "phase": self.phase, "standing": self.standing}
                write_json(self.folder.post_mortem / "report.json", report)
            if error is not None and not self.is_finished:
                # SystemExit: nobody reads the output any more; KeyboardInterrupt: a second Ctrl-C.
                is_stopped = isinstance(error, Interrupted | SystemExit | KeyboardInterrupt)
                word = "stopped" if is_stopped else "failed"
                write_status(self.folder, word, self.standing, error=str(error))

    def _recall_status(self) -> None:
        try:
            status = read_status(self.folder)
        except EvadeError as error:
            self._notify(f"{error} It is written again from the checkpoint.")
            return
        journals = {name: extent.document() for name, extent in status.journals.items()}
        self.standing = status.standing | ({"journals": journals} if journals else {})
        self.is_finished = status.word == "finished"

    def set_standing(self, standing: Mapping[str, Any], *, is_scored: bool = False) -> None:
        """Write down where the run stands.

        Args:
            standing: iteration, phase, ..., and how far the journals are written.
            is_scored: whether the final score was taken. A finished run stays finished then; otherwise it was made
                longer, or its last checkpoint was lost, and it is running again.
        """
        self.standing = dict(standing)
        self.is_finished = self.is_finished and is_scored
        if not self.is_finished:
            write_status(self.folder, "running", self.standing)

    def finish(self, score: Mapping[str, float]) -> None:
        """Write down that the run is done, with its score."""
        write_status(self.folder, "finished", self.standing, score=dict(score))
        self.is_finished = True

    def check_stop(self) -> None:
        """Raise `Interrupted` if a signal has asked to stop; call it only where everything is saved."""
        if self.should_stop:
            raise Interrupted(f"stopped and saved in {self.folder.path}: run the same command again to resume.")

    def _agree_on_settings(self) -> None:
        if self.folder.has(self.folder.config):
            changed = differences(saved_config(self.folder), self.config)
            if changed:
                raise ConfigChanged(
                    f"{self.folder.path} holds a run with other settings: " + "; ".join(changed) + ". "
                    "To keep it, choose another --name, --seed or --runs-dir."
                )
        else:
            self.write_settings()

    def write_settings(self) -> None:
        """Write settings and environment, once it is certain that the run can continue with them.

        Until then environment.txt names the version that made what is there. A difference that may change the results
        is shown.
        """
        before = self._read_environment()
        changed = [name for name in MUST_MATCH if name in before and before[name] != self._environment.get(name)]
        if changed:
            listed = "; ".join(f"{name} was {before[name]!r}, is {self._environment.get(name)!r}" for name in changed)
            self._notify(f"this environment differs ({listed}): the run continues, but no longer bit for bit alike.")
        config = ConfigDocument(
            to_document(self.config), fingerprint(self.config), PREPROCESSING_VERSION, EVALUATION_VERSION
        )
        write_config(self.folder, config)
        write_atomically(self.folder.environment, json.dumps(dict(self._environment), indent=2).encode())

    def _read_environment(self) -> dict[str, Any]:
        if not self.folder.has(self.folder.environment):
            return {}
        try:
            found = read_json(self.folder.environment)
        except EvadeError as error:
            self._notify(f"{error} It is written again.")
            return {}
        return found if isinstance(found, dict) else {}

    def _listen_to_signals(self, opened: ExitStack) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        if former[signal.SIGHUP] is signal.SIG_IGN:  # nohup: the run is to outlive its terminal
            del former[signal.SIGHUP]

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            # A second signal finds the former handler and ends the process at once.
            self.should_stop = True
            signal.signal(number, former[signal.Signals(number)])
            self._notify("stopping: saving a checkpoint")

        for number, handler in former.items():
            signal.signal(number, ask_to_stop)
            opened.callback(signal.signal, number, handler)
