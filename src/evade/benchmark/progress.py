"""What a person sees while a benchmark goes on."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from evade.viewing.display import LINE_SECONDS


class ProgressBar:
    """Progress through a number of parts that is known: a bar on a terminal, a line every 30 seconds elsewhere.

    Args:
        title: what goes on.
        console: where to show it; its clock is the one that counts.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self.title = title
        self.console = console or Console()
        self._last_line = self.console.get_time()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        is_drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not is_drawn)
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, what: str, done: int, total: int) -> None:
        """Say what is being done, and how many of the parts are."""
        self._bar.update(self._task, description=f"{self.title}: {what}", completed=done, total=total)
        now = self.console.get_time()
        if self._bar.disable and now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self.console.print(f"{self.title}: {what}, {done} of {total}", markup=False, highlight=False)
