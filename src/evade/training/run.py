"""A run in progress, as the phases see it."""

import platform
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

import torch
from torch import Tensor

import evade
from evade.config import RunConfig
from evade.envs import spec
from evade.errors import EvadeError
from evade.native import find_compiler
from evade.runs.failpoints import reach
from evade.runs.folder import RunFolder
from evade.runs.journal import read_journal
from evade.runs.session import Session
from evade.runtime.compilation import Compiler, should_compile
from evade.runtime.device import find_device
from evade.training.assemble import assemble
from evade.training.checkpoints import Checkpoints
from evade.training.evaluation import EpisodeScore
from evade.training.progress import Display, Progress, Silent
from evade.training.real_games import RealGames
from evade.training.state import TrainState


class Run:
    """Settings, folder and display of a run. Use it in a `with` statement: it holds the folder's lock.

    Three parts do the work: `session` holds the folder (lock, settings, signals, status), `checkpoints` saves and
    restores, `progress` is what people see.

    Args:
        config: the settings asked for.
        folder: the run's folder, new or not.
        display: where progress is shown.
    """

    def __init__(self, config: RunConfig, folder: RunFolder, display: Display | None = None) -> None:
        self.config, self.folder = config, folder
        self.display = Silent() if display is None else display
        # Before anything is written: a missing device or a game that cannot be played leaves no folder behind.
        self.device = find_device(config.machine.device)
        self.game = spec(config.game, config.env)
        self.compiler = Compiler(should_compile(config), self._log_compilation)
        self.progress = Progress(self.display, config)
        self.checkpoints = Checkpoints(folder, config.machine.save_seconds, self.display.note)
        self.real_games = RealGames(config)
        self.session = Session(config, folder, self._environment(), self.display.note)

    def _environment(self) -> dict[str, object]:
        return {
            "evade": evade.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "threads": self.config.machine.threads or torch.get_num_threads(),
            "compile": self.compiler.is_on,
            # Sums are in another order without one (`evade.native`).
            "c++": find_compiler() is not None,
        }

    def __enter__(self) -> Self:
        self.session.__enter__()
        if self.config.machine.threads:
            torch.set_num_threads(self.config.machine.threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.real_games.close()
        self.session.__exit__(kind, error, trace)

    def restore_or_start(self) -> TrainState:
        """The newest usable checkpoint's state, or a new one; metrics and scores are cut back to it."""
        state = assemble(self.config, self.game, self.folder)
        is_resumed = self.checkpoints.restore(state)
        self.session.closing.callback(self.checkpoints.logbook.close)
        self.session.write_settings()
        if is_resumed:
            # Only an estimate depends on it, so a damaged journal of times stops nothing.
            with suppress(EvadeError):
                self.progress.learn(read_journal(self.folder.timing))
            self._write_standing(state)
            self.display.note(f"resuming in iteration {state.position.iteration}, phase {state.position.phase}")
        else:
            self.save(state)
        return state

    def begin(self, state: TrainState, total: int, phase: str | None = None) -> None:
        """A phase begins, with `total` units of work."""
        position = state.position
        self.progress.begin(position.iteration, phase or position.phase, total, position.progress)
        self.session.phase = self.progress.phase
        reach(f"{self.progress.phase}:begin")
        self.session.check_stop()

    def report_progress(self, done: int) -> None:
        """Show progress within a phase that starts again when interrupted (collect, evaluate, score)."""
        reach(f"{self.progress.phase}:step")
        self.progress.advance(done)
        self.session.check_stop()

    def complete_unit(self, state: TrainState, done: int) -> None:
        """One more update or batch of a phase that resumes from here; save if it is time to, or to stop."""
        state.position.progress = done
        reach(f"{self.progress.phase}:update")
        self.progress.advance(done)
        if self.session.should_stop or self.checkpoints.is_due:
            self.save(state)
        self.session.check_stop()

    def save(self, state: TrainState) -> None:
        """Write a checkpoint; metrics and scores up to here become part of it."""
        self.checkpoints.save(state)
        self._write_standing(state)

    def _write_standing(self, state: TrainState) -> None:
        self.session.set_standing(
            {
                "iteration": min(state.position.iteration, self.config.schedule.iterations),
                "iterations": self.config.schedule.iterations,
                "phase": state.position.phase,
                "real_steps": state.replay.num_steps,
                "journals": {name: extent.document() for name, extent in self.checkpoints.logbook.extents().items()},
            },
            is_scored=state.position.scored_after == self.config.schedule.iterations,
        )

    def _log_compilation(self, seconds: float) -> None:
        self.checkpoints.logbook.time_apart(self.session.standing["iteration"], "compile", seconds)
        self.progress.exclude(seconds)
        self.display.note(f"compiled the dream step in {seconds:.1f} s")

    def log(self, state: TrainState, step: int, group: str, values: Mapping[str, float | Tensor]) -> None:
        """Log numbers as `group/name` and show them."""
        numbers = {f"{group}/{name}": float(value) for name, value in values.items()}
        self.checkpoints.logbook.add_metrics(state.position.iteration, self.progress.phase, step, numbers)
        self.display.show(numbers)

    def log_scores(self, state: TrainState, scores: list[EpisodeScore]) -> None:
        """Log every episode of an evaluation, and show their mean."""
        phase = self.progress.phase
        rows = [score._asdict() for score in scores]
        self.checkpoints.logbook.add_scores(state.position.iteration, phase, state.replay.num_steps, rows)
        self.log(state, len(scores), phase, {"score": sum(score.score for score in scores) / len(scores)})
