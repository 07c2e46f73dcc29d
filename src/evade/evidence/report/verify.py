"""Verify a report: recompute every number and figure from the run folders and compare with the pages."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from matplotlib.figure import Figure

from evade.errors import ReportError, UnreadableFile
from evade.evidence.figures import save_figure
from evade.evidence.report.build import plot_figures, render_pages
from evade.evidence.report.groups import arrange
from evade.evidence.report.inspections import list_exhibits
from evade.evidence.results import RunResult
from evade.guarded import read_regular

SHOWN_DIFFERENCES = 5
"""The number of differences that an error lists."""


LARGEST_FILE = 1 << 30
"""Bytes of a page, figure or data file."""


class Shown(NamedTuple):
    """A number as a page shows it."""

    text: str
    value: str
    """All its digits."""
    source: str


class _Numbers(HTMLParser):
    """Collects the elements with a `data-key`, which have no child elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, Shown] = {}
        self._open: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if key := attributes.get("data-key"):
            self.found[key] = Shown("", attributes.get("data-value", ""), attributes.get("href", ""))
            self._open = (tag, key)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[0] == tag:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open:
            key = self._open[1]
            self.found[key] = self.found[key]._replace(text=self.found[key].text + data.strip())


def read_numbers(page: str) -> dict[str, Shown]:
    """Every number on a page by its key."""
    parser = _Numbers()
    parser.feed(page)
    return parser.found


def verify_report(runs: Sequence[RunResult], folder: Path) -> int:
    """Compare a report with the runs: numbers, raw episodes, all other text, and figures.

    Returns:
        The number of compared numbers.

    Raises:
        ReportError: something differs or is missing; the message lists it.
        UnreadableFile: the numbers of a figure are damaged.
    """
    groups = arrange(runs)
    count = 0
    differences: list[str] = []
    exhibits = list(list_exhibits(groups))
    for name, data in render_pages(groups, exhibits).items():
        written = _read(folder / name)
        if name.endswith(".json"):
            differences += [f"{name} has other episodes or metrics"] if written != data else []
            continue
        expected = read_numbers(data.decode())
        different = _compare(name, expected, read_numbers(written.decode(errors="replace")))
        if written != data and not different:
            different = [f"{name} has other text, counts or settings"]
        differences += different
        count += len(expected)
    differences += _compare_figures(plot_figures(groups, exhibits), folder)
    if differences:
        listed = "; ".join(differences[:SHOWN_DIFFERENCES])
        number = f"{len(differences)} difference{'' if len(differences) == 1 else 's'}"
        raise ReportError(
            f"the report in {folder} does not match its runs ({number}): {listed}. "
            "If the runs, evade or matplotlib changed, write it again; otherwise the report was altered."
        )
    return count


def _compare_figures(figures: Mapping[str, Figure], folder: Path) -> list[str]:
    with TemporaryDirectory() as temporary:
        return [
            f"{name} is another figure"
            for name, figure in figures.items()
            if save_figure(figure, Path(temporary, name)).read_bytes() != _read(folder / name)
        ]


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, LARGEST_FILE)
    except UnreadableFile as error:
        raise ReportError(f"{error} Write the report before verifying it.") from error


def _compare(page: str, expected: dict[str, Shown], shown: dict[str, Shown]) -> list[str]:
    keys = [key for key in {**expected, **shown} if expected.get(key) != shown.get(key)]
    return [f"{page} shows {_show(shown.get(key))} for {key}, the runs give {_show(expected.get(key))}" for key in keys]


def _show(number: Shown | None) -> str:
    if number is None:
        return "nothing"
    return f"{number.text:.40} ({number.value})" if number.value else f"{number.text:.40}"
