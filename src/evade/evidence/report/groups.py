"""The runs of a report: checked, numbered and grouped by game, protocol, preset, variant and other settings."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evade.evidence.figures.style import VariantStyle, styles_for
from evade.evidence.results import RunResult
from evade.evidence.results.comparability import check_distinct, label_runs, name_labels, split_by_protocol


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
class Section:
    """A game and a protocol: what is shown side by side."""

    game: str
    protocol: int
    """1 for the protocol of most runs of the game; others are counted from 2."""
    difference: str
    """How the protocol differs from the first one; empty for the first."""

    @property
    def title(self) -> str:
        """The game, with the number of the protocol if it is not the first."""
        return self.game + (f", protocol {self.protocol}" if self.protocol > 1 else "")


@dataclass(frozen=True)
class Group:
    """The runs over which means are taken: one section, preset, variant and recipe."""

    key: str
    section: Section
    preset: str
    label: str
    """The variant, with what tells it apart from others of the section."""
    style: VariantStyle
    entries: tuple[Entry, ...]

    @property
    def game(self) -> str:
        """The game's name."""
        return self.section.game

    @property
    def page(self) -> str:
        """The page of its raw episodes, as a link from the front page."""
        return f"episodes/{self.key}.html"


def arrange(runs: Sequence[RunResult]) -> list[Group]:
    """Check, number and group the runs. Runs of one game that were evaluated differently are in different sections.

    Raises:
        RunError: a run is given twice.
    """
    ordered = sorted(runs, key=lambda run: (run.game, run.preset, run.variant, run.seed, run.folder.path))
    check_distinct(ordered)
    shared = Path(os.path.commonpath([run.folder.path.absolute().parent for run in runs]))
    groups: list[Group] = []
    num_entries = 0
    for game, same_game in groupby(ordered, key=lambda run: run.game):
        for protocol, found in enumerate(split_by_protocol(list(same_game)), start=1):
            labelled: dict[tuple[str, str], list[RunResult]] = {}
            for run, label in zip(found.runs, label_runs(found.runs), strict=True):
                labelled.setdefault((run.preset, label), []).append(run)
            names = name_labels(found.runs)
            styles = styles_for([names[label] for _, label in labelled])
            for (preset, label), members in labelled.items():
                entries = tuple(
                    Entry(f"run-{index}", str(run.folder.path.absolute().relative_to(shared)), run)
                    for index, run in enumerate(members, start=num_entries + 1)
                )
                num_entries += len(members)
                section = Section(game, protocol, found.difference)
                groups.append(Group(f"group-{len(groups) + 1}", section, preset, label, styles[names[label]], entries))
    return groups
