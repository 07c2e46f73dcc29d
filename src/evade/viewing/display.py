"""The live display of a run: one panel on a terminal, plain lines anywhere else."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import IO, NamedTuple, Self, cast

from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evade.viewing.formats import format_duration, format_value
from evade.viewing.streams import ForgivingStream
from evade.vocabulary.metrics import METRICS
from evade.vocabulary.phases import PHASES

REFRESHES_PER_SECOND = 4
"""How often the panel is rendered."""
LINE_SECONDS = 30
"""Without a terminal: the shortest time between two lines about the same phase."""
PANEL_WIDTH = 92
"""Characters: wide enough for two columns of numbers, narrow enough to take in at a glance."""
PANEL_SIDES = 4
"""Characters of the panel's borders and padding."""
GAP = 2
"""Characters between two columns of numbers."""


class CurrentPhase(NamedTuple):
    """What is being done."""

    iteration: int
    name: str
    total: int | None
    started: float
    """By the console's clock, in seconds."""


class Display:
    """Shows a run's phase, progress, remaining time and latest numbers.

    All methods are cheap: on a terminal they only remember what the panel will show, elsewhere they
    print one line for each finished phase and one every 30 seconds during a long one.

    Args:
        title: what runs, e.g. game, variant and seed.
        num_iterations: turns of Algorithm 1 in the whole run.
        console: where to show it; standard output unless given. Its clock is the display's clock.
    """

    def __init__(self, title: str, num_iterations: int, console: Console | None = None) -> None:
        self.title = title
        self.num_iterations = num_iterations
        self.console = console or Console(file=cast(IO[str], ForgivingStream(sys.stdout)))
        self._phase: CurrentPhase | None = None
        self._done = 0
        self._values: dict[str, float] = {}
        self._phase_values: dict[str, float] = {}
        self._fraction = 0.0
        self._expected_end: float | None = None
        self._started = self.console.get_time()
        self._last_line = self._started
        self._outcome: str | None = None
        is_drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live = (
            Live(get_renderable=self._render, console=self.console, refresh_per_second=REFRESHES_PER_SECOND)
            if is_drawn
            else None
        )

    def __enter__(self) -> Self:
        self._started = self._last_line = self.console.get_time()
        if self._live is None:
            self._print(f"{self.title}: {self.num_iterations} iterations")
        else:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._outcome = "finished" if kind is None else "stopped"
        took = format_duration(self.console.get_time() - self._started)
        if self._live is not None:
            self._live.stop()
            return
        if self._phase is not None:
            self._print_phase("done in" if kind is None else "stopped after")
        self._print(f"{self.title}: {self._outcome} after {took}")

    def phase(self, iteration: int, name: str, total: int | None) -> None:
        """Begin a phase, which ends the one before.

        Args:
            iteration: counted from 1; 0 is what comes before the first.
            name: one of `evade.vocabulary.phases.PHASES`.
            total: what `advance` will reach; None if unknown.
        """
        if self._phase is not None and self._live is None:
            self._print_phase("done in")
        self._done = 0
        self._phase_values = {}
        self._phase = CurrentPhase(iteration, name, total, self.console.get_time())

    def advance(self, done: int) -> None:
        """Say how much of the phase's total is done."""
        self._done = done
        if self._live is None and self.console.get_time() - self._last_line >= LINE_SECONDS:
            self._print_phase("for")

    def show(self, values: Mapping[str, float]) -> None:
        """Show the latest numbers by their names in the metrics; numbers not named here stay as they were."""
        self._phase_values.update(values)
        # A new dictionary, because the panel's clock may be reading the old one just now.
        self._values = {**self._values, **values}

    def note(self, message: str) -> None:
        """Show a message once; it stays above the panel."""
        self._print(message)

    def overall(self, fraction: float, seconds_left: float | None = None) -> None:
        """Say how much of the whole run is done, 0 to 1, and how long the rest will take; None if unknown."""
        self._fraction = min(max(fraction, 0.0), 1.0)
        self._expected_end = None if seconds_left is None else self.console.get_time() + seconds_left

    def _remaining(self) -> str:
        if self._expected_end is None:
            return ""
        return f"about {format_duration(max(0.0, self._expected_end - self.console.get_time()))} left"

    def _print(self, line: str) -> None:
        self._last_line = self.console.get_time()
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _print_phase(self, verb: str) -> None:
        """One plain line about the current phase, e.g. `[ 12 %] iteration 3/30  fit done in 42 s, 900/900 | ...`."""
        assert self._phase is not None
        iteration, name, _, started = self._phase
        facts = [f"{name} {verb} {format_duration(self.console.get_time() - started)}", self._count("/")]
        if self._outcome is None:
            facts.append(self._remaining())
        parts = [
            f"[{self._fraction:4.0%}] iteration {iteration}/{self.num_iterations}  {', '.join(filter(None, facts))}"
        ]
        parts += [f"{label} {value} {unit}".rstrip() for label, value, unit in _readable(self._phase_values)]
        self._print(" | ".join(parts))

    def _count(self, of: str) -> str:
        total = self._phase.total if self._phase else None
        if total is not None:
            return f"{self._done:,}{of}{total:,}"
        return f"{self._done:,}" if self._done else ""

    def _render(self) -> RenderableType:
        """The panel as it is now; called by its own clock, in a thread of its own."""
        body: list[RenderableType] = [self._heading(), "", self._bars()]
        if self._values:
            inside = min(PANEL_WIDTH, self.console.width) - PANEL_SIDES
            body += ["", _numbers(_readable(self._values), inside)]
        elapsed = format_duration(self.console.get_time() - self._started)
        colour = {None: "bright_black", "finished": "green", "stopped": "yellow"}[self._outcome]
        return Panel(
            Group(*body),
            box=ROUNDED,
            title=Text(self.title, "bold"),
            title_align="left",
            subtitle=Text(f"{self._outcome or 'running'} · {elapsed}", "dim"),
            subtitle_align="right",
            border_style=colour,
            padding=1,
            width=min(PANEL_WIDTH, self.console.width),
        )

    def _heading(self) -> RenderableType:
        phase = self._phase
        if phase is None:
            return Text("getting ready", "dim")
        description = PHASES[phase.name].description if phase.name in PHASES else phase.name
        return Text.assemble(
            ("iteration ", "dim"),
            (f"{phase.iteration}", "bold"),
            (f" of {self.num_iterations}    ", "dim"),
            (description, "cyan"),
        )

    def _bars(self) -> RenderableType:
        total = (self._phase.total if self._phase else None) or 0
        share = min(1.0, self._done / total) if total else 0.0
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(width=10, style="dim")
        table.add_column(ratio=1)
        table.add_column(width=5, justify="right")
        table.add_column(width=24, style="dim")
        table.add_row("this phase", _bar(share), f"{share:.0%}" if total else "", self._count(" of "))
        remaining = self._remaining() if self._outcome is None else ""
        table.add_row("whole run", _bar(self._fraction), f"{self._fraction:.0%}", remaining)
        return table


def _bar(share: float) -> ProgressBar:
    return ProgressBar(total=1.0, completed=share, style="grey23", complete_style="cyan", finished_style="green")


def _readable(values: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Label, value and unit of each metric that the display shows, in the order in which they first came."""
    shown = [(METRICS[name], value) for name, value in values.items() if name in METRICS]
    return [
        (metric.label, format_value(value, metric.unit), metric.unit)
        for metric, value in shown
        if "display" in metric.shown
    ]


def _numbers(readable: list[tuple[str, str, str]], width: int) -> RenderableType:
    """The numbers in two columns, read downwards, or in one where two are wider than `width` characters.

    Numbers and units are never cut; where even one column is too wide, labels are.
    """
    columns = [readable[: (len(readable) + 1) // 2], readable[(len(readable) + 1) // 2 :]]
    if sum(_width(column) for column in columns) + GAP > width:
        columns = [readable]
    tables = []
    for column in columns:
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(justify="right", no_wrap=True, min_width=max((len(row[1]) for row in column), default=0))
        table.add_column(style="dim", no_wrap=True, min_width=max((len(row[2]) for row in column), default=0))
        for row in column:
            table.add_row(*row)
        tables.append(table)
    if len(tables) == 1:
        return tables[0]
    pair = Table.grid(padding=(0, GAP))
    pair.add_row(*tables)
    return pair


def _width(column: list[tuple[str, str, str]]) -> int:
    """Characters of a column of numbers: its widest label, value and unit, with a space between."""
    return sum(max((len(row[index]) for row in column), default=0) for index in range(3)) + 2
