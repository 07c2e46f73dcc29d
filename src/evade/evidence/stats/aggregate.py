"""Aggregates over games (mean, median, interquartile mean, optimality gap) and the standard error of a mean.

Definitions follow Agarwal et al. 2021. Pass normalised scores: raw scores of different games have no common unit.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from evade.evidence.stats.scores import FloatArray, Pool, Scores, check_runs, pool_scores

Metric = Literal["mean", "median", "iqm", "optimality_gap"]
"""The name of an aggregate over games."""


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    standard_error: float
    """NaN for a single value, whose spread is unknown."""

    def show(self, digits: int) -> str:
        """`mean ± standard error`, or the mean alone if the error is NaN."""
        mean = f"{self.mean:.{digits}f}"
        return mean if np.isnan(self.standard_error) else f"{mean} ± {self.standard_error:.{digits}f}"


def mean(scores: Scores) -> float:
    """The mean over games of each game's mean."""
    return aggregate(scores, "mean")


def median(scores: Scores) -> float:
    """The median over games of each game's mean."""
    return aggregate(scores, "median")


def iqm(scores: Scores) -> float:
    """The mean of the middle half of all runs of all games (paper, appendix "Inter-Quartile Mean").

    Of n runs, the floor(n / 4) lowest and the floor(n / 4) highest are left out. If games have different numbers of
    runs, each game's runs are repeated until all games have equally many.
    """
    return aggregate(scores, "iqm")


def optimality_gap(scores: Scores) -> float:
    """How far runs fall short of 1 on average; scores above 1 count as 1."""
    return aggregate(scores, "optimality_gap")


def aggregate(scores: Scores, metric: Metric) -> float:
    """Compute one of the four aggregates by name."""
    return float(POOLED[metric](pool_scores(scores))[0])


def estimate(values: Sequence[float] | FloatArray) -> Estimate:
    """Mean and standard error (sample deviation / sqrt(n)) of n runs or episodes of one game.

    This is the only implementation of the standard error in the package.

    Raises:
        ScoreError: there are no values, or one is not finite.
    """
    values = check_runs(values)
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return Estimate(float(values.mean()), float(error))


def weighted_mean(pool: Pool, values: FloatArray) -> FloatArray:
    """`[S]`: the mean of values `[S, N]` of the pool's runs, weighted so that all games count the same."""
    weights = pool.weights
    # Not a matrix product: its rounding depends on the number of rows, so chunks would change the result.
    return np.asarray((values * weights).sum(axis=1) / weights.sum())


def _mean(pool: Pool) -> FloatArray:
    return weighted_mean(pool, pool.values)


def _median(pool: Pool) -> FloatArray:
    return np.asarray(np.median(pool.game_means, axis=1))


def _optimality_gap(pool: Pool) -> FloatArray:
    return 1 - weighted_mean(pool, np.minimum(pool.values, 1))


def _iqm(pool: Pool) -> FloatArray:
    weights = pool.weights
    total = weights.sum()
    cut = total // 4
    if total == weights.size:
        ordered = np.sort(pool.values, axis=1)
        return np.asarray(ordered[:, cut : total - cut].mean(axis=1))
    order = np.argsort(pool.values, axis=1)
    upper = np.cumsum(weights[order], axis=1)
    kept = np.clip(np.minimum(upper, total - cut) - np.maximum(upper - weights[order], cut), 0, None)
    ordered = np.take_along_axis(pool.values, order, axis=1)
    return np.asarray((ordered * kept).sum(axis=1) / kept.sum(axis=1))


POOLED: dict[Metric, Callable[[Pool], FloatArray]] = {
    "mean": _mean,
    "median": _median,
    "iqm": _iqm,
    "optimality_gap": _optimality_gap,
}
"""Each aggregate as a function from a pool `[S, N]` to one value per resample `[S]`."""
