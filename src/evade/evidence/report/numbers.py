"""The numbers of a report, each with a key, its digits and a link to the raw samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evade.evidence.report.groups import Entry, Group
from evade.evidence.report.measures import FINAL, Measure
from evade.evidence.stats import bootstrap_intervals, estimate
from evade.evidence.stats.scores import MIN_RUNS


@dataclass(frozen=True)
class Number:
    """One number as the page shows it."""

    key: str
    value: float
    source: str
    """Link to the raw samples, from the page that shows the number."""
    scale: float | None = None
    """The number beside it that decides its number of digits; None for itself."""

    @property
    def text(self) -> str:
        """The number as the page shows it, with about three significant digits."""
        size = abs(self.value if self.scale is None else self.scale)
        if size >= 1000:
            return f"{self.value:,.0f}"
        if size >= 1 or size == 0:
            return f"{self.value:.2f}"
        return f"{self.value:.3g}"


@dataclass(frozen=True)
class Point:
    """A group's mean at one position of the axis."""

    place: int
    mean: Number
    error: Number | None
    """Standard error over runs; None for too few."""
    num_runs: int


@dataclass(frozen=True)
class Headline:
    """A group's final score with its interval."""

    mean: Number
    low: Number | None
    high: Number | None
    basis: str
    """What the interval was computed over, or why there is none."""


def summarise(key: str, values: Sequence[float], source: str) -> tuple[Number, Number | None]:
    """Compute mean and standard error of raw samples; None for the error of a single sample."""
    mean, error = estimate(values)
    shown = Number(f"{key}/mean", mean, source)
    return shown, None if math.isnan(error) else Number(f"{key}/standard-error", error, source, mean)


def headline(group: Group) -> Headline | None:
    """Compute the mean of the finished runs' scores with its 95 % interval; None if no run is finished."""
    finals = [entry.run.final_scores for entry in group.entries if entry.run.is_finished]
    if not finals:
        return None
    means = [estimate(scores).mean for scores in finals]
    source = f"{group.page}#{FINAL.key}"
    key = f"{group.key}/headline"
    mean = Number(f"{key}/mean", estimate(means).mean, source)
    if len(means) < MIN_RUNS:
        number = f"{len(means)} run{'' if len(means) == 1 else 's'}"
        return Headline(mean, None, None, f"{number}: fewer than {MIN_RUNS} say nothing about how much runs differ")
    low, high = bootstrap_intervals({group.game: means}, ["mean"])["mean"]
    ends = [Number(f"{key}/{name}", value, source, mean.value) for name, value in (("low", low), ("high", high))]
    return Headline(mean, ends[0], ends[1], f"over {len(means)} runs")


def history(group: Group, measure: Measure) -> list[Point]:
    """Compute the group's mean wherever at least one run has samples; unfinished runs end earlier."""
    found = [samples for entry in group.entries if (samples := measure.read(entry.run))]
    points = []
    for place in sorted({place for samples in found for place in samples}):
        values = [estimate(samples[place]).mean for samples in found if place in samples]
        key = f"{group.key}/{measure.key}/{place}"
        mean, error = summarise(key, values, f"{group.page}#{measure.key}-{place}")
        points.append(Point(place, mean, error if len(values) >= MIN_RUNS else None, len(values)))
    return points


def final_score(group: Group, entry: Entry) -> tuple[Number, Number | None] | None:
    """Compute one run's mean score and standard error over episodes; None if the run is not finished."""
    samples = FINAL.read(entry.run)
    if not samples:
        return None
    ((place, scores),) = samples.items()
    return summarise(f"{entry.key}/score", scores, f"{group.page}#{FINAL.key}-{place}-{entry.key}")


def cost(entry: Entry) -> dict[str, Number]:
    """Wall-clock seconds by phase, and their total."""
    seconds = entry.run.seconds
    numbers = {phase: Number(f"{entry.key}/seconds/{phase}", spent, entry.data) for phase, spent in seconds.items()}
    return numbers | {"total": Number(f"{entry.key}/seconds/total", math.fsum(seconds.values()), entry.data)}
