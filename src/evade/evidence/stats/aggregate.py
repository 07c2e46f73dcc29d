"""One number for many games: mean, median, interquartile mean, optimality gap, and the standard error of runs.

Definitions follow Agarwal et al. 2021. Give normalised scores: raw scores of different games have no common unit.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from evade.evidence.stats.scores import FloatArray, Pool, Scores, check_runs, pool_scores

Metric = Literal["mean", "median", "iqm", "optimality_gap"]
"""An aggregate over games, by name."""


class Estimate(NamedTuple):
    """A mean and how far it may be off."""

    mean: float
    standard_error: float
    """NaN for a single run: its spread is not known."""

    def show(self, digits: int) -> str:
        """`mean ± standard error`; the mean alone where there is no error."""
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

    Of n runs the floor(n / 4) lowest and as many highest are left out. Where games have different numbers of runs,
    each game's runs are repeated until all games have equally many.
    """
    return aggregate(scores, "iqm")


def optimality_gap(scores: Scores) -> float:
    """How far runs fall short of 1 on average; what lies above 1 counts as 1."""
    return aggregate(scores, "optimality_gap")


def aggregate(scores: Scores, metric: Metric) -> float:
    """One of the four aggregates, by name."""
    return float(POOLED[metric](pool_scores(scores))[0])


def estimate(runs: Sequence[float] | FloatArray) -> Estimate:
    """Mean and standard error (sample deviation over the root of the number of runs) of one game's runs."""
    values = check_runs(runs)
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return Estimate(float(values.mean()), float(error))


def weighted_mean(pool: Pool, values: FloatArray) -> FloatArray:
    """`[S]`: the mean of values `[S, N]` that belong to the pool's runs, each game counting alike."""
    weights = pool.weights
    # Not a matrix product: its rounding depends on how many rows are multiplied at once.
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
"""Each aggregate as a function from a pool `[S, N]` to its value in every resample `[S]`."""
