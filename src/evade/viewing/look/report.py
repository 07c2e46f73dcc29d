"""The report of the run that is looked at, made in memory: nothing is written, and nothing is left behind."""

import io
import stat
from pathlib import Path

from evade.evidence.results import read_run

FRONT_PAGE = "index.html"

MAX_VIDEO = 64 * 1024 * 1024
"""Bytes of a video that is shown."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
}
"""The report has its styles inside and no scripts."""


class MemoryReport:
    """The pages, figures and videos of `evade report` for one run, by their paths.

    Args:
        path: the run's folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        """A file of the report; the front page is made anew, because the run may still be training."""
        if name == FRONT_PAGE:
            self._files = self._build()
        return self._files.get(name)

    def _build(self) -> dict[str, bytes]:
        # matplotlib is slow to import, and the page does not need it.
        from evade.evidence.figures.style import house_style
        from evade.evidence.report.build import plot_figures, render_pages, videos
        from evade.evidence.report.groups import arrange
        from evade.evidence.report.inspections import list_exhibits

        groups = arrange([read_run(self._path)])
        exhibits = list(list_exhibits(groups))
        files = render_pages(groups, exhibits)
        for name, figure in plot_figures(groups, exhibits).items():
            buffer = io.BytesIO()
            with house_style():
                figure.savefig(buffer, format=name.rpartition(".")[2])
            files[name] = buffer.getvalue()
        for entry in (entry for group in groups for entry in group.entries):
            files |= {name: video.read_bytes() for video, name in videos(entry).items() if _is_plain(video)}
        return files


def _is_plain(path: Path) -> bool:
    """Whether it is a file of bearable size and not a link: a run folder is untrusted."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_VIDEO
