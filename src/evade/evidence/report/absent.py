"""What finished runs lack that a report would show: videos, and the numbers of figures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evade.evidence.results import RunResult
from evade.runs.folder import VIDEO, RunFolder
from evade.vocabulary.variants import VARIANTS

LARGEST_VIDEO = 1 << 28
"""Bytes of a video that is copied into a report; those of Atari games have less than a tenth."""

ALWAYS_FILMED = "game.mp4"
"""The video that every finished run has."""


def list_absent(runs: Sequence[RunResult]) -> Iterator[str]:
    """One message for each file that finished runs lack, or that is not a regular file of at most `LARGEST_VIDEO`."""
    lacking: dict[str, list[Path]] = {}
    for run in runs:
        for name in _find_absent(run) if run.is_finished else ():
            lacking.setdefault(name, []).append(run.folder.path)
    for name, paths in lacking.items():
        others = f" (like {len(paths) - 1:,} more)" if len(paths) > 1 else ""
        yield (
            f"{paths[0]}{others} has no {name} that can be shown: it is left out of the report. `evade resume RUN` "
            f"writes it again."
        )


def usable_videos(folder: RunFolder) -> list[Path]:
    """The videos of a run that are copied into a report."""
    return [path for path in folder.videos() if path.lstat().st_size <= LARGEST_VIDEO]


def _find_absent(run: RunResult) -> Iterator[str]:
    folder = run.folder
    found = {path.name for path in folder.media.iterdir()} if folder.has(folder.media) else set()
    filmed = {name for name in found if VIDEO.fullmatch(name)} | {ALWAYS_FILMED}
    yield from sorted(f"media/{name}" for name in filmed - {path.name for path in usable_videos(folder)})
    variant = VARIANTS.get(run.variant)
    if variant is not None and variant.event_layers and not folder.has(folder.inspection):
        yield folder.inspection.name
