"""The numbers of a report: each with its key, its digits, and a link to what it was computed from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evade.evidence.report.groups import FINAL, Entry, Group, Measure
from evade.evidence.stats import Estimate, bootstrap_intervals, estimate


@dataclass(frozen=True)
class Number:
    """One number as the page shows it."""

    key: str
    value: float
    source: str
    """Link to the raw numbers, from the page that shows it."""
    scale: float | None = None
    """The number it stands beside and takes its number of digits from."""

    @property
    def text(self) -> str:
        """Its digits on the page: enough to compare and few enough to read."""
        size = abs(self.value if self.scale is None else self.scale)
        if size >= 1000:
            return f"{self.value:,.0f}"
        if size >= 1 or size == 0:
            return f"{self.value:.2f}"
        return f"{self.value:.3g}"


@dataclass(frozen=True)
class Point:
    """A group's mean at one place of the axis."""

    place: int
    mean: Number
    error: Number | None
    """Standard error over runs; over the raw numbers of a single run; None if there is only one."""
    num_runs: int


@dataclass(frozen=True)
class Headline:
    """How good a group is, and how sure that is."""

    mean: Number
    low: Number | None
    high: Number | None
    basis: str
    """What the interval speaks of."""


def summarise(key: str, values: Sequence[float], source: str) -> tuple[Number, Number | None]:
    """Mean and standard error of raw numbers."""
    found: Estimate = estimate(values)
    mean = Number(f"{key}/mean", found.mean, source)
    if math.isnan(found.standard_error):
        return mean, None
    return mean, Number(f"{key}/standard-error", found.standard_error, source, found.mean)


def headline(group: Group) -> Headline | None:
    """The mean of the finished runs' scores with its 95 % interval; None if no run is finished."""
    finals = [entry.run.final_scores for entry in group.entries if entry.run.final_scores]
    if not finals:
        return None
    means = [estimate(scores).mean for scores in finals]
    basis = f"over {len(means)} runs" if len(means) > 1 else f"over {len(finals[0])} episodes of one run"
    resampled = means if len(means) > 1 else list(finals[0])
    source = f"{group.page}#{FINAL.key}"
    key = f"{group.key}/headline"
    mean = Number(f"{key}/mean", estimate(means).mean, source)
    if len(resampled) < 2:
        return Headline(mean, None, None, "one episode: no interval")
    low, high = bootstrap_intervals({group.game: resampled}, ["mean"])["mean"]
    ends = [Number(f"{key}/{name}", value, source, mean.value) for name, value in (("low", low), ("high", high))]
    return Headline(mean, ends[0], ends[1], basis)


def history(group: Group, measure: Measure) -> list[Point]:
    """The group's mean wherever a run measured; places differ if runs stopped early."""
    found = [samples for entry in group.entries if (samples := measure.read(entry.run))]
    points = []
    for place in sorted({place for samples in found for place in samples}):
        raw = [samples[place] for samples in found if place in samples]
        values = [estimate(each).mean for each in raw] if len(raw) > 1 else raw[0]
        key = f"{group.key}/{measure.key}/{place}"
        mean, error = summarise(key, values, f"{group.page}#{measure.key}-{place}")
        points.append(Point(place, mean, error, len(raw)))
    return points


def final_score(group: Group, entry: Entry) -> tuple[Number, Number | None] | None:
    """One run's mean score and standard error over episodes; None if it is not finished."""
    samples = FINAL.read(entry.run)
    if not samples:
        return None
    ((place, scores),) = samples.items()
    return summarise(f"{entry.key}/score", scores, f"{group.page}#{FINAL.key}-{place}-{entry.key}")


def cost(entry: Entry) -> dict[str, Number]:
    """Seconds by phase, and their total."""
    seconds = entry.run.seconds
    numbers = {phase: Number(f"{entry.key}/seconds/{phase}", spent, entry.data) for phase, spent in seconds.items()}
    return numbers | {"total": Number(f"{entry.key}/seconds/total", math.fsum(seconds.values()), entry.data)}
