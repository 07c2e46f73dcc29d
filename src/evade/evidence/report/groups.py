"""Runs in their places: grouped by game, preset and variant, each with the name and the links it has in the report."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from evade.errors import ReportError
from evade.evidence.results import RunResult

Samples = dict[int, list[float]]
"""Where on the axis (real steps or iteration) to the raw numbers measured there."""


@dataclass(frozen=True)
class Entry:
    """One run with its place in the report."""

    key: str
    """`run-3`: safe in a file name and in a link, whatever the folder is called."""
    name: str
    """The folder's path below the folder that all runs share."""
    run: RunResult

    @property
    def data(self) -> str:
        """The file of its raw episodes and metrics, as a link from the front page."""
        return f"data/{self.key}.json"


@dataclass(frozen=True)
class Group:
    """The runs that differ in their seed alone, so that their mean has a meaning."""

    key: str
    game: str
    preset: str
    variant: str
    entries: tuple[Entry, ...]

    @property
    def page(self) -> str:
        """The page of its raw episodes, as a link from the front page."""
        return f"episodes/{self.key}.html"


@dataclass(frozen=True)
class Measure:
    """Something that was measured many times in a run."""

    key: str
    title: str
    axis: str
    read: Callable[[RunResult], Samples]


def arrange(runs: Sequence[RunResult]) -> list[Group]:
    """Group the runs and number them.

    Raises:
        ReportError: runs of one game were evaluated by different protocols, or one run is given twice.
    """
    shared = Path(os.path.commonpath([run.folder.path.absolute().parent for run in runs]))
    ordered = sorted(runs, key=lambda run: (run.game, run.preset, run.variant, run.seed, run.folder.path))
    entries = [
        Entry(f"run-{index}", str(run.folder.path.absolute().relative_to(shared)), run)
        for index, run in enumerate(ordered, start=1)
    ]
    for one, other in pairwise(entries):
        _check_comparable(one, other)
    grouped = groupby(entries, key=lambda entry: (entry.run.game, entry.run.preset, entry.run.variant))
    return [Group(f"group-{index}", *names, tuple(group)) for index, (names, group) in enumerate(grouped, start=1)]


def _check_comparable(one: Entry, other: Entry) -> None:
    if one.run.settings == other.run.settings:
        raise ReportError(f"{one.name} and {other.name} have the same settings and seed: report one of them.")
    if one.run.game == other.run.game and one.run.protocol != other.run.protocol:
        fields = [field for field, value in one.run.protocol.items() if other.run.protocol[field] != value]
        raise ReportError(
            f"{one.name} and {other.name} were evaluated by different protocols ({', '.join(fields)} differ), so their "
            "scores are not comparable: make a report of each."
        )


def _final_scores(run: RunResult) -> Samples:
    last = max((row.iteration for row in run.episodes if row.purpose == "score"), default=0)
    steps = [row.real_steps for row in run.episodes if row.purpose == "score" and row.iteration == last]
    return {steps[0]: list(run.final_scores)} if steps else {}


def _evaluations(run: RunResult) -> Samples:
    samples: Samples = {}
    for row in run.episodes:
        if row.purpose == "evaluate":
            samples.setdefault(row.real_steps, []).append(row.score)
    return samples


def _metric(phase: str, name: str) -> Callable[[RunResult], Samples]:
    def read(run: RunResult) -> Samples:
        samples: Samples = {}
        for row in run.metrics:
            if row.phase == phase and name in row.values:
                samples.setdefault(row.iteration, []).append(row.values[name])
        return samples

    return read


FINAL = Measure("score", "Final evaluation", "real steps", _final_scores)
EVALUATIONS = Measure("evaluate", "Evaluations while training", "real steps", _evaluations)
DREAM = Measure("dream", "Return of the last dreams", "iteration", _metric("collect", "start_dream_return"))
REAL = Measure("real", "Return of the game from the same starts", "iteration", _metric("collect", "start_real_return"))
SIGMA = Measure("sigma", "Mean sigma of the event layers", "iteration", _metric("draw", "sigma"))
MEASURES = (FINAL, EVALUATIONS, DREAM, REAL, SIGMA)
