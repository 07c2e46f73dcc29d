"""The progress bar of a benchmark."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from evade.viewing.display import LINE_SECONDS


class ProgressBar:
    """Progress through a known number of parts: a bar on a terminal, otherwise a line every 30 seconds.

    Args:
        title: shown before the current part.
        console: to print to; its clock is used.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self.title = title
        self.console = console or Console()
        self._last_line = self.console.get_time()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        shows_bar = self.console.is_terminal and not self.console.is_dumb_terminal
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not shows_bar)
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, what: str, done: int, total: int) -> None:
        """Show the current part and the number of parts completed; an `OnPart` callback."""
        self._bar.update(self._task, description=f"{self.title}: {what}", completed=done, total=total)
        now = self.console.get_time()
        if self._bar.disable and now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self.console.print(f"{self.title}: {what}, {done} of {total}", markup=False, highlight=False)
