"""The runs of a report: checked, numbered and grouped by game, preset and variant."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evade.evidence.results import RunResult
from evade.evidence.results.comparability import check_comparable, check_distinct
from evade.evidence.results.labels import label_runs


@dataclass(frozen=True)
class Entry:
    """One run of the report."""

    key: str
    """`run-3`: safe in file names and links, unlike the folder's name."""
    name: str
    """The folder's path, relative to the common parent of all runs."""
    run: RunResult

    @property
    def data(self) -> str:
        """The file of its raw episodes and metrics, as a link from the front page."""
        return f"data/{self.key}.json"


@dataclass(frozen=True)
class Group:
    """The runs of one game, preset and variant, over which means are taken."""

    key: str
    game: str
    preset: str
    variant: str
    """The variant's name, and the settings that tell the group from others of the variant."""
    entries: tuple[Entry, ...]

    @property
    def page(self) -> str:
        """The page of its raw episodes, as a link from the front page."""
        return f"episodes/{self.key}.html"


def arrange(runs: Sequence[RunResult]) -> list[Group]:
    """Check, number and group the runs.

    Raises:
        ProtocolMismatch: runs of one game were evaluated by different protocols.
        RunError: a run is given twice.
    """
    labels = label_runs(runs)

    def place(run: RunResult) -> tuple[str, str, str]:
        return run.game, run.preset, labels[str(run.folder.path)]

    ordered = sorted(runs, key=lambda run: (*place(run), run.seed, run.folder.path))
    check_distinct(ordered)
    for _, same_game in groupby(ordered, key=lambda run: run.game):
        check_comparable(list(same_game))
    shared = Path(os.path.commonpath([run.folder.path.absolute().parent for run in runs]))
    entries = [
        Entry(f"run-{index}", str(run.folder.path.absolute().relative_to(shared)), run)
        for index, run in enumerate(ordered, start=1)
    ]
    grouped = groupby(entries, key=lambda entry: place(entry.run))
    return [Group(f"group-{index}", *names, tuple(group)) for index, (names, group) in enumerate(grouped, start=1)]
