"""A run under way: its settings, folder and display; when it saves, and how it stops."""

import json
import platform
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from torch import Tensor

import evade
from evade.config import EVALUATION_VERSION, RunConfig, differences, fingerprint, from_document, to_document
from evade.envs import spec
from evade.envs.games import PREPROCESSING_VERSION
from evade.errors import ConfigChanged, Interrupted, RunError, StorageError, TrainingDiverged
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.failpoints import reach
from evade.runs.files import read_json, remove_leftovers, write_atomically, write_json
from evade.runs.folder import RunFolder
from evade.runs.lock import RunLock
from evade.runs.logbook import RunRecords, size_of, write_status
from evade.runtime.compilation import Compiler, should_compile
from evade.training.assemble import assemble
from evade.training.evaluation import EpisodeScore
from evade.training.state import PHASES, TrainState
from evade.viewing.display import Display

PHASE_SHARES = {"collect": 0.05, "fit": 0.4, "draw": 0.0, "improve": 0.5, "evaluate": 0.05}
"""Rough shares of an iteration's time, for the estimate of what remains."""


def folder_of(config: RunConfig, runs_dir: Path) -> RunFolder:
    """Where a run lives: the same command always means the same folder."""
    game = config.game.replace("/", "-").replace(":", "-")
    return RunFolder(runs_dir / config.preset / game / config.variant / f"seed-{config.seed}")


def saved_config(folder: RunFolder) -> RunConfig:
    """The settings a run was started with."""
    if not folder.config.exists():
        raise RunError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    return from_document(read_json(folder.config)["settings"])


class Run:
    """What stays the same while a run goes on. Use it in a `with` statement: it holds the folder's lock.

    Args:
        config: the settings asked for; those saved in the folder must agree (`differences`).
        folder: the run's folder, new or not.
        display: shown to people.
    """

    def __init__(self, config: RunConfig, folder: RunFolder, display: Display) -> None:
        self.config, self.folder, self.display = config, folder, display
        self.device = torch.device(config.machine.device)
        # Before anything is written: a game that cannot be played with these settings leaves no folder behind.
        self.game = spec(config.game, config.env)
        self.compiler = Compiler(should_compile(config), self._tell_compiled)
        self._closing = ExitStack()
        self._should_stop = False
        self._number = 0
        self._saved_at = time.monotonic()
        self._phase, self._total = "", 1
        self._standing: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.folder.create()
            opened.enter_context(RunLock(self.folder.lock))
            remove_leftovers(self.folder.path)
            self._agree_on_settings()
            self._listen_to_signals(opened)
            self._closing = opened.pop_all()
        if self.config.machine.threads:
            torch.set_num_threads(self.config.machine.threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A full disk may be why we are here; it must not hide the reason.
        with self._closing, suppress(StorageError):
            if isinstance(error, TrainingDiverged):
                report = {"error": str(error), "phase": self._phase, "standing": self._standing}
                write_json(self.folder.post_mortem / "report.json", report)
            if error is not None:
                word = "stopped" if isinstance(error, Interrupted) else "failed"
                write_status(self.folder, word, self._standing, error=str(error))

    def _agree_on_settings(self) -> None:
        if self.folder.config.exists():
            changed = differences(saved_config(self.folder), self.config)
            if changed:
                raise ConfigChanged(
                    f"{self.folder.path} holds a run with other settings; to keep it, choose another --runs-dir or "
                    f"--seed. What differs: " + "; ".join(changed) + "."
                )
        document = {
            "settings": to_document(self.config),
            "fingerprint": fingerprint(self.config),
            "preprocessing_version": PREPROCESSING_VERSION,
            "evaluation_version": EVALUATION_VERSION,
        }
        write_json(self.folder.config, document)
        about = {
            "evade": evade.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "threads": self.config.machine.threads or torch.get_num_threads(),
            "compile": self.compiler.is_on,
        }
        write_atomically(self.folder.environment, json.dumps(about, indent=2).encode())

    def _listen_to_signals(self, opened: ExitStack) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            # A second signal finds the former handler and ends the process at once.
            self._should_stop = True
            signal.signal(number, former[signal.Signals(number)])
            self.display.note("asked to stop: saving")

        for number, handler in former.items():
            signal.signal(number, ask_to_stop)
            opened.callback(signal.signal, number, handler)

    def restore_or_start(self) -> TrainState:
        """The newest usable checkpoint's state, or a new one; metrics and scores are cut back to it."""
        state = assemble(self.config, self.game, self.folder)
        checkpoint = load_checkpoint(self.folder.checkpoints, self.display.note)
        if checkpoint is None and size_of(self.folder.metrics):
            raise RunError(
                f"{self.folder.path} has metrics but no checkpoint to continue from: bring the folder "
                f"{self.folder.checkpoints} back, or remove the whole run to start anew."
            )
        self.records = RunRecords(self.folder, {} if checkpoint is None else checkpoint.state["committed"])
        self._closing.callback(self.records.close)
        if checkpoint is None:
            self.save(state)
        else:
            state.restore(checkpoint.tensors, checkpoint.state["train"])
            self._number = checkpoint.number
            self._stand(state)
            self.display.note(f"resuming in iteration {state.iteration}, phase {state.phase}")
        return state

    def begin(self, state: TrainState, total: int, name: str | None = None) -> None:
        """A phase begins: tell people, and how much there is to do."""
        self._phase, self._total = name or state.phase, total
        reach(f"{self._phase}:begin")
        self.display.phase(min(state.iteration, self.config.schedule.iterations), self._phase, total)
        self._check_stop()

    def passing(self, state: TrainState, done: int) -> None:
        """Progress within a phase that starts again when interrupted (collect, evaluate, score)."""
        reach(f"{self._phase}:step")
        self._show_progress(state, done)
        self._check_stop()

    def passed(self, state: TrainState, done: int) -> None:
        """One more update or batch of a phase that can continue from here; save if it is time to, or to stop."""
        state.progress = done
        reach(f"{self._phase}:update")
        self._show_progress(state, done)
        if self._should_stop or time.monotonic() - self._saved_at > self.config.machine.save_seconds:
            self.save(state)
        self._check_stop()

    def _show_progress(self, state: TrainState, done: int) -> None:
        self.display.advance(done)
        before = PHASES[: PHASES.index(state.phase)]
        share = sum(PHASE_SHARES[name] for name in before) + PHASE_SHARES[state.phase] * done / self._total
        self.display.overall(min((state.iteration - 1 + share) / self.config.schedule.iterations, 1.0))

    def _check_stop(self) -> None:
        if self._should_stop:
            raise Interrupted(f"stopped and saved in {self.folder.path}: run the same command again to go on.")

    def save(self, state: TrainState) -> None:
        """Write a checkpoint; metrics and scores up to here become part of it."""
        numbers = {"train": state.numbers(), "committed": dict(self.records.commit())}
        self._number += 1
        save_checkpoint(self.folder.checkpoints, self._number, state.tensors(), numbers)
        self._saved_at = time.monotonic()
        self._stand(state)

    def _stand(self, state: TrainState) -> None:
        self._standing = {
            "iteration": min(state.iteration, self.config.schedule.iterations),
            "iterations": self.config.schedule.iterations,
            "phase": state.phase,
            "real_steps": state.replay.num_steps,
        }
        write_status(self.folder, "running", self._standing)

    def _tell_compiled(self, seconds: float) -> None:
        self.records.time_apart(self._standing["iteration"], "compile", seconds)
        self.display.note(f"compiled the dream step in {seconds:.1f} s")

    def log(self, state: TrainState, step: int, values: Mapping[str, float | Tensor]) -> None:
        """Write numbers down and show them."""
        numbers = {name: float(value) for name, value in values.items()}
        self.records.add_metrics(state.iteration, self._phase, step, numbers)
        self.display.show(numbers)

    def log_scores(self, state: TrainState, scores: list[EpisodeScore]) -> None:
        """Write down every episode of an evaluation, and show their mean."""
        self.records.add_scores(state.iteration, self._phase, state.replay.num_steps, scores)
        self.log(state, len(scores), {"score": sum(score.score for score in scores) / len(scores)})

    def finish(self, score: Mapping[str, float]) -> None:
        """Write down that the run is done, with its score."""
        write_status(self.folder, "finished", self._standing, score=dict(score))
