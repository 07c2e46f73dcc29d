"""Performance profiles: the share of runs that score above a threshold (Agarwal et al. 2021)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evade.evidence.stats.aggregate import weighted_mean
from evade.evidence.stats.bootstrap import bootstrap, make_rng, tail_levels
from evade.evidence.stats.scores import FloatArray, Pool, Scores, pool_scores


class Profile(NamedTuple):
    """A profile with its pointwise band; all arrays are `[thresholds]`."""

    thresholds: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


def performance_profile(scores: Scores, thresholds: Sequence[float] | FloatArray) -> FloatArray:
    """`[thresholds]`: the share of runs above each threshold; all games have the same weight."""
    return np.asarray(_share_above(pool_scores(scores), np.asarray(thresholds, dtype=np.float64))[0])


def profile_with_band(
    scores: Scores,
    thresholds: Sequence[float] | FloatArray,
    *,
    num_resamples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Profile:
    """Compute a profile and its pointwise bootstrap interval at each threshold."""
    taus = np.asarray(thresholds, dtype=np.float64)
    rng = make_rng(seed)
    resampled = bootstrap(scores, lambda pool: _share_above(pool, taus), num_resamples, rng)
    low, high = np.quantile(resampled, tail_levels(confidence), axis=0)
    return Profile(taus, performance_profile(scores, taus), low, high)


def _share_above(pool: Pool, thresholds: FloatArray) -> FloatArray:
    """`[S, thresholds]`."""
    above = [weighted_mean(pool, (pool.values > threshold).astype(np.float64)) for threshold in thresholds]
    return np.stack(above, axis=1)
