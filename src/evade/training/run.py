"""A run under way: its settings, folder and display; when it saves, what it writes down, how it stops."""

import json
import platform
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import torch
from torch import Tensor

import evade
from evade.config import EVALUATION_VERSION, RunConfig, differences, fingerprint, from_document, to_document
from evade.display import Display
from evade.envs import spec
from evade.envs.games import PREPROCESSING_VERSION
from evade.errors import ConfigChanged, Interrupted, RunError, TrainingDiverged
from evade.evaluation import EpisodeScore
from evade.failpoints import reach
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.files import read_json, remove_leftovers, write_atomically, write_json
from evade.runs.folder import RunFolder
from evade.runs.journal import Journal
from evade.runs.lock import RunLock
from evade.tensorboard_mirror import TensorBoardMirror, mirror
from evade.training.assemble import assemble
from evade.training.state import PHASES, TrainState

PHASE_SHARES = {"collect": 0.05, "fit": 0.4, "draw": 0.0, "improve": 0.5, "evaluate": 0.05}
"""Rough shares of an iteration's time, for the estimate of what remains."""


def folder_of(config: RunConfig, runs_dir: Path) -> RunFolder:
    """Where a run lives: the same command always means the same folder."""
    game = config.game.replace("/", "-").replace(":", "-")
    return RunFolder(runs_dir / config.preset / game / config.variant / f"seed-{config.seed}")


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
        self._lock = RunLock(folder.lock)
        self._should_stop = False
        self._number = 0
        self._saved_at = 0.0
        self._phase, self._total = "", 1
        self._handlers: dict[int, Any] = {}
        self._open: list[Journal | TensorBoardMirror] = []

    def __enter__(self) -> Self:
        self.folder.create()
        self._lock.__enter__()
        try:
            remove_leftovers(self.folder.path)
            self._agree_on_settings()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        self.game = spec(self.config.game, self.config.env)
        if self.config.machine.threads:
            torch.set_num_threads(self.config.machine.threads)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._handlers[number] = signal.signal(number, self._ask_to_stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for closable in self._open:
            closable.close()
        if isinstance(error, TrainingDiverged):
            self._write_post_mortem(error)
        if error is not None and not isinstance(error, RunError | ConfigChanged):
            self._write_status("stopped" if isinstance(error, Interrupted) else "failed", error=str(error))
        self._lock.__exit__(kind, error, trace)

    def _agree_on_settings(self) -> None:
        if self.folder.config.exists():
            saved = from_document(read_json(self.folder.config)["settings"])
            changed = differences(saved, self.config)
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
        about = {"evade": evade.__version__, "torch": torch.__version__, "python": platform.python_version()}
        about |= {"machine": platform.machine(), "threads": str(self.config.machine.threads or "torch's choice")}
        write_atomically(self.folder.environment, json.dumps(about, indent=2).encode())

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        # A second signal finds the former handler and ends the process at once.
        self._should_stop = True
        signal.signal(number, self._handlers[number])
        self.display.note("asked to stop: saving")

    def restore_or_start(self) -> TrainState:
        """The newest usable checkpoint's state, or a new one; metrics and scores are cut back to it."""
        state = assemble(self.config, self.game, self.folder)
        checkpoint = load_checkpoint(self.folder.checkpoints, self.display.note)
        committed = {"metrics": 0, "scores": 0}
        if checkpoint is not None:
            state.restore(checkpoint.tensors, checkpoint.state["train"])
            committed = checkpoint.state["committed"]
            self._number = checkpoint.number
            self.display.note(f"resuming in iteration {state.iteration}, phase {state.phase}")
        elif _size(self.folder.metrics):
            raise RunError(
                f"{self.folder.path} has metrics but no checkpoint to continue from: bring the folder "
                f"{self.folder.checkpoints} back, or remove the whole run to start anew."
            )
        self._metrics = Journal(self.folder.metrics, committed["metrics"])
        self._scores = Journal(self.folder.scores, committed["scores"])
        self._timing = Journal(self.folder.timing, _size(self.folder.timing))
        mirror(self.folder.metrics, self.folder.tensorboard)
        self._tensorboard = TensorBoardMirror(self.folder.tensorboard)
        self._open = [self._metrics, self._scores, self._timing, self._tensorboard]
        self._saved_at = time.monotonic()
        if checkpoint is None:
            self.save(state)
        self._write_status("running", state)
        return state

    def begin(self, state: TrainState, total: int, name: str | None = None) -> None:
        """A phase begins: tell people, and how much there is to do."""
        self._phase, self._total = name or state.phase, total
        reach(f"{self._phase}:begin")
        self.display.phase(state.iteration, self._phase, total)
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
        committed = {"metrics": self._metrics.commit(), "scores": self._scores.commit()}
        self._number += 1
        save_checkpoint(
            self.folder.checkpoints,
            self._number,
            state.tensors(),
            {"train": state.numbers(), "committed": committed, "fingerprint": fingerprint(self.config)},
        )
        self._saved_at = time.monotonic()
        self._write_status("running", state)

    def log(self, state: TrainState, step: int, values: Mapping[str, float]) -> None:
        """Write numbers down and show them."""
        record = {"iteration": state.iteration, "phase": self._phase, "step": step, "values": dict(values)}
        self._metrics.append(record)
        self._tensorboard.add(record)
        self.display.show(values)

    def record_scores(self, state: TrainState, purpose: str, scores: list[EpisodeScore]) -> None:
        """Write down every episode of an evaluation, and its mean."""
        shared = {
            "purpose": purpose,
            "iteration": state.iteration,
            "real_steps": state.replay.num_steps,
            "evaluation_version": EVALUATION_VERSION,
            "preprocessing_version": PREPROCESSING_VERSION,
        }
        for score in scores:
            self._scores.append(shared | asdict(score))
        mean = sum(score.score for score in scores) / len(scores)
        self.log(state, len(scores), {"score": mean})

    @staticmethod
    def to_numbers(metrics: Mapping[str, Tensor]) -> dict[str, float]:
        """Scalars as numbers."""
        return {name: value.item() for name, value in metrics.items()}

    @contextmanager
    def timed(self, state: TrainState) -> Iterator[None]:
        """Write down how long a phase took; the only record that is not the same in every repetition."""
        name, iteration, start = state.phase, state.iteration, time.monotonic()
        yield
        record = {"iteration": iteration, "phase": name, "seconds": round(time.monotonic() - start, 3)}
        self._timing.append(record)

    def _write_status(self, word: str, state: TrainState | None = None, error: str = "") -> None:
        if state is not None:
            self._standing = {
                "iteration": min(state.iteration, self.config.schedule.iterations),
                "iterations": self.config.schedule.iterations,
                "phase": state.phase,
                "real_steps": state.replay.num_steps,
            }
        document = {"status": word, "updated": time.time(), "error": error} | getattr(self, "_standing", {})
        write_json(self.folder.status, document)

    def finish(self, state: TrainState, score: Mapping[str, Any]) -> None:
        """Write down that the run is done, with its score."""
        self._write_status("finished", state)
        write_json(self.folder.status, read_json(self.folder.status) | {"score": dict(score)})

    def _write_post_mortem(self, error: TrainingDiverged) -> None:
        standing = getattr(self, "_standing", {})
        document = {"error": str(error), "phase": self._phase, "standing": standing}
        write_json(self.folder.post_mortem / "report.json", document)
        self.display.note(f"a post-mortem is in {self.folder.post_mortem}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def saved_config(folder: RunFolder, **changes: Any) -> RunConfig:
    """The settings a run was started with, some of them replaced."""
    if not folder.config.exists():
        raise RunError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    return replace(from_document(read_json(folder.config)["settings"]), **changes)
