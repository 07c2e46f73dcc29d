"""How the run went so far: scores and logged numbers over its iterations."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from evade.evidence.results import MetricRow, read_run
from evade.vocabulary.metrics import METRICS

SERIES = (
    "collect/return",
    "faithfulness/game_return",
    "faithfulness/dream_return",
    "faithfulness/divergence_step",
    "posterior/disagreement",
    "posterior/spread",
    "posterior/sigma",
)
"""Metrics that are shown, one point for each iteration."""


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    name: str
    label: str
    unit: str
    meaning: str
    points: tuple[tuple[float, float], ...]
    """(real steps or iteration, value)."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    status: str
    scores: Series
    """Mean score of each evaluation, by real steps; the final one is the last."""
    series: tuple[Series, ...]
    """By iteration."""


def read_progress(path: Path) -> Progress:
    """Read the journals of a run, which may still be training; nothing is changed."""
    result = read_run(path)
    scores = defaultdict(list)
    for row in result.episodes:
        scores[row.real_steps, row.purpose].append(row.score)
    means = tuple((steps, fmean(values)) for (steps, _), values in sorted(scores.items()))
    return Progress(
        status=result.status,
        scores=Series("score", "score", "points", "mean score of whole games, by real steps", means),
        series=tuple(_series(name, result.metrics) for name in SERIES),
    )


def _series(name: str, rows: Iterable[MetricRow]) -> Series:
    points: dict[float, float] = {}
    for row in rows:
        if name in row.values:
            points[row.iteration] = row.values[name]
    metric = METRICS[name]
    return Series(name, metric.label, metric.unit, metric.meaning, tuple(sorted(points.items())))
