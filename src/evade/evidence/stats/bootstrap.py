"""Percentile intervals from the stratified bootstrap (Agarwal et al. 2021).

A resample picks, for each game separately, as many runs as the game has, with replacement. Games are never resampled:
an interval is about other runs of the same games. Every function makes its own generator from `seed`, so the same
scores and seed give the same interval regardless of earlier calls.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, get_args

import numpy as np

from evade.errors import ScoreError
from evade.evidence.stats.aggregate import POOLED, Metric
from evade.evidence.stats.scores import FloatArray, Pool, Scores, pool_scores

_VALUES_AT_ONCE = 1_000_000
"""Resampled scores held in memory at a time; the result does not depend on it."""


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float

    def show(self, digits: int) -> str:
        """`[low, high]`."""
        return f"[{self.low:.{digits}f}, {self.high:.{digits}f}]"


def bootstrap_intervals(
    scores: Scores,
    metrics: Sequence[Metric] = get_args(Metric),
    *,
    num_resamples: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[Metric, Interval]:
    """Compute an interval for each aggregate, all from the same resamples.

    A game with one run adds no spread, so the interval is then too narrow.

    Raises:
        ScoreError: no game has two runs, so there is nothing to resample.
    """

    def evaluate(pool: Pool) -> FloatArray:
        return np.stack([POOLED[metric](pool) for metric in metrics], axis=1)

    resampled = bootstrap(scores, evaluate, num_resamples, make_rng(seed))
    return {metric: percentile_interval(resampled[:, i], confidence) for i, metric in enumerate(metrics)}


def bootstrap_difference(
    first: Scores,
    second: Scores,
    metric: Metric,
    *,
    num_resamples: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Compute an interval for `metric(first) - metric(second)`; the two are resampled independently."""
    rng = make_rng(seed)
    difference = bootstrap(first, POOLED[metric], num_resamples, rng)
    return percentile_interval(difference - bootstrap(second, POOLED[metric], num_resamples, rng), confidence)


def bootstrap(
    scores: Scores, statistic: Callable[[Pool], FloatArray], num_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Compute a statistic of every resample: `[num_resamples, ...]`, where `statistic` maps `[S, N]` to `[S, ...]`."""
    pool = pool_scores(scores)
    if pool.counts.max() < 2:
        raise ScoreError("every game has a single run, so there is no spread: give at least two runs of one game.")
    return np.concatenate([statistic(resample) for resample in _resample(pool, num_resamples, rng)])


def percentile_interval(resampled: FloatArray, confidence: float) -> Interval:
    """The central interval that holds a share `confidence` of the values `[num_resamples]`."""
    low, high = np.quantile(resampled, tail_levels(confidence))
    return Interval(float(low), float(high))


def make_rng(seed: int) -> np.random.Generator:
    """Make a separate generator, so that no other code can change its numbers."""
    if not 0 <= seed < 2**63:
        raise ScoreError(f"Invalid seed = {seed}: must be 0 to 2^63 - 1.")
    return np.random.default_rng(seed)


def tail_levels(confidence: float) -> tuple[float, float]:
    """The two quantile levels that enclose the central share `confidence`."""
    if not 0 < confidence < 1:
        raise ScoreError(f"Invalid confidence = {confidence}: must be between 0 and 1, such as 0.95.")
    return (1 - confidence) / 2, (1 + confidence) / 2


def _resample(pool: Pool, num_resamples: int, rng: np.random.Generator) -> Iterator[Pool]:
    if num_resamples < 1:
        raise ScoreError(f"Invalid num_resamples = {num_resamples}: must be at least 1.")
    size = np.repeat(pool.counts, pool.counts)
    start = np.repeat(pool.starts, pool.counts)
    rows_at_once = max(1, _VALUES_AT_ONCE // size.size)
    for done in range(0, num_resamples, rows_at_once):
        rows = min(rows_at_once, num_resamples - done)
        # rng.integers with an array of bounds is many times slower than scaling uniform numbers.
        chosen = (rng.random((rows, size.size)) * size).astype(np.int64) + start
        yield Pool(pool.values[0][chosen], pool.counts)
