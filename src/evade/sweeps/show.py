"""What people see of a sweep: a live table on a terminal, plain lines anywhere else. No torch here."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Column, Table

from evade.sweeps.carry_out import DIVERGED, FINISHED, LOST
from evade.sweeps.pace import Pace
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import SweepFolder
from evade.sweeps.standing import Standing, latest_score
from evade.viewing.formats import format_duration

READ_SECONDS = 2.0
"""How often the folders of active runs are looked at, and the table is rendered."""
LINE_SECONDS = 60.0
"""Without a terminal: time between two lines about the whole sweep."""
SPARE_LINES = 6
"""Of the terminal: for the table's frame and heading."""


class SweepDisplay:
    """Shows each active run's phase, progress, score so far and time left, and those of the whole sweep.

    Args:
        folder: of the sweep.
        runs: all planned runs.
        pace: progress and time left.
        slots: how many runs have room at a time.
        console: where to show it; standard output unless given.
    """

    def __init__(
        self, folder: SweepFolder, runs: Sequence[PlannedRun], pace: Pace, slots: int, console: Console | None = None
    ) -> None:
        self._folder, self._runs, self._pace, self._slots = folder, runs, pace, slots
        self._console = console or Console()
        self._active: tuple[PlannedRun, ...] = ()
        self._scores: dict[PlannedRun, float | None] = {}
        self._num_waiting, self._is_stopping = 0, False
        self._failed: list[PlannedRun] = []
        self._read_at = self._line_at = time.monotonic()
        is_drawn = self._console.is_terminal and not self._console.is_dumb_terminal
        # Rendered by `refresh` alone: a thread of its own would read what is being changed.
        self._live = Live(get_renderable=self._render, console=self._console, auto_refresh=False) if is_drawn else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, run: PlannedRun, attempt: int) -> None:
        """A run was started."""
        self._pace.start(run)
        standing = self._pace.standings[run]
        verb = f"resumed at {standing.share(run):.0%}" if standing.iteration else "started"
        self._print(f"{run.title}: {verb}{'' if attempt == 1 else f', attempt {attempt}'}")

    def ended(self, run: PlannedRun, code: int, is_retried: bool) -> None:
        """A run ended."""
        self._pace.end(run)
        standing = self._pace.standings[run]
        if code == FINISHED:
            score = "" if standing.score is None else f", score {standing.score:.2f}"
            self._print(f"{run.title}: finished{score} [{self._summary()}]")
            return
        if self._is_stopping:
            self._print(f"{run.title}: stopped at {standing.share(run):.0%}")
            return
        if not is_retried:
            self._failed.append(run)
        ending = "it will be tried again" if is_retried else "given up"
        self._print(f"{run.title}: {describe_code(code)}; {ending} ({self._folder.log(run)})")

    def refresh(self, active: Sequence[PlannedRun], num_waiting: int, is_stopping: bool) -> None:
        """Look at the active runs every now and then."""
        if is_stopping and not self._is_stopping:
            self._print(f"stopping: {len(active)} runs save a checkpoint; press Ctrl-C again to end them at once")
        self._active, self._num_waiting, self._is_stopping = tuple(active), num_waiting, is_stopping
        now = time.monotonic()
        if now - self._read_at >= READ_SECONDS:
            self._read_at = now
            for run in active:
                self._pace.update(run)
                self._scores[run] = latest_score(self._folder.runs_dir, run)
            if self._live is not None:
                self._live.refresh()
        if self._live is None and now - self._line_at >= LINE_SECONDS:
            self._print(self._summary())

    def _print(self, line: str) -> None:
        self._line_at = time.monotonic()
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _summary(self) -> str:
        """The whole sweep in one line."""
        unfinished = [run for run in self._runs if not self._pace.standings[run].is_done(run)]
        parts = [f"{len(self._runs) - len(unfinished)} of {len(self._runs)} runs finished"]
        parts += [f"{len(self._failed)} failed"] if self._failed else []
        left = self._pace.total_left([run for run in unfinished if run not in self._failed], self._slots)
        parts += [] if left is None or not unfinished else [f"about {format_duration(left)} left"]
        return ", ".join(parts)

    def _render(self) -> RenderableType:
        room = max(1, self._console.height - SPARE_LINES)
        table = run_table(f"{self._summary()}, {self._num_waiting} waiting")
        for run in self._active[:room]:
            add_row(table, run, self._pace.standings[run], self._scores.get(run), self._pace.seconds_left(run))
        hidden = len(self._active) - room
        if hidden > 0:
            table.caption = f"and {hidden} more active runs"
        return table


def run_table(title: str) -> Table:
    """An empty table of runs."""
    right = [Column(name, justify="right") for name in ("iteration", "done", "score", "left")]
    return Table(Column("run", overflow="fold"), "phase", *right, title=title, title_justify="left")


def add_row(table: Table, run: PlannedRun, standing: Standing, score: float | None, seconds_left: float | None) -> None:
    """One run: where it stands, its score so far (the final one when it is finished), and the time left."""
    is_done = standing.is_done(run)
    score = standing.score if is_done else score
    table.add_row(
        run.title,
        standing.word if is_done or not standing.phase else standing.phase,
        f"{standing.iteration}/{run.iterations}",
        f"{standing.share(run):.0%}",
        "-" if score is None else f"{score:.2f}",
        "-" if is_done or seconds_left is None else format_duration(seconds_left),
    )


def describe_code(code: int) -> str:
    """An exit code in words."""
    if code == DIVERGED:
        return "training diverged"
    if code == LOST:
        return "its machine was lost, or another one is working on it"
    return f"killed by signal {-code}" if code < 0 else f"failed with exit code {code}"


def count_words(standings: Mapping[PlannedRun, Standing]) -> dict[str, int]:
    """How many runs are finished, running, stopped, failed or new; a run that must get longer counts as stopped."""
    words = (
        "stopped" if standing.word == "finished" and not standing.is_done(run) else standing.word
        for run, standing in standings.items()
    )
    return dict(Counter(words))
