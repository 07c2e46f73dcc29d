"""Scores by game and run: the input of every statistic, checked in one place.

Scores are a mapping from a game's name to the scores of its runs. Games may have different numbers of runs: every
statistic gives each *game* the same weight, so a game with more runs does not weigh more.

Axes: `G` games, `N` runs of all games concatenated, `S` resamples.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evade.errors import ScoreError

FloatArray: TypeAlias = NDArray[np.float64]
Scores: TypeAlias = Mapping[str, Sequence[float] | FloatArray]
"""Game to the scores of its runs."""


class Pool(NamedTuple):
    """The runs of all games, concatenated; one row per resample."""

    values: FloatArray
    """`[S, N]`, game after game."""
    counts: NDArray[np.int64]
    """`[G]`: the number of runs of each game."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """`[G]`: the index of each game's first run."""
        return np.cumsum(self.counts) - self.counts

    @property
    def weights(self) -> NDArray[np.int64]:
        """`[N]`: the smallest integers that give every game the same total; all 1 if games have equally many runs."""
        return np.repeat(np.lcm.reduce(self.counts) // self.counts, self.counts)

    @property
    def game_means(self) -> FloatArray:
        """`[S, G]`: the mean of each game's runs."""
        return np.add.reduceat(self.values, self.starts, axis=1) / self.counts


def check_scores(scores: Scores) -> dict[str, FloatArray]:
    """Convert scores to arrays, with the games in alphabetical order.

    Raises:
        ScoreError: there is no game, a game has no runs, or a score is not finite.
    """
    if not scores:
        raise ScoreError("there are no scores: give at least one game with one run.")
    return {game: check_runs(scores[game], game) for game in sorted(scores)}


def check_runs(runs: Sequence[float] | FloatArray, game: str = "the game") -> FloatArray:
    """Convert one game's scores to an array `[runs]` of finite numbers.

    Raises:
        ScoreError: there are no runs, or a score is not finite.
    """
    values = np.asarray(runs, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ScoreError(f"{game} has scores of shape {values.shape}: give a list with one score per run.")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ScoreError(
            f"{game} has the score {values[bad[0]]} in run {bad[0] + 1}: must be finite. Leave a failed run out."
        )
    return values


def check_same_games(first: Scores, second: Scores) -> None:
    """Raise a `ScoreError` that lists the difference unless both have the same games."""
    if first.keys() != second.keys():
        raise ScoreError(
            f"the two methods were not run on the same games: only the first has "
            f"{sorted(first.keys() - second.keys())}, only the second has {sorted(second.keys() - first.keys())}."
        )


MIN_RUNS = 3
"""Runs of a game below which nothing is said about how much runs differ: no error, interval or probability."""


def has_enough_runs(scores: Scores) -> bool:
    """Whether every game has at least `MIN_RUNS` runs, so that runs can be resampled."""
    return bool(scores) and all(len(runs) >= MIN_RUNS for runs in scores.values())


def pool_scores(scores: Scores) -> Pool:
    """Concatenate the scores into one row `[1, N]`."""
    checked = check_scores(scores)
    counts = np.array([runs.size for runs in checked.values()], dtype=np.int64)
    return Pool(np.concatenate(list(checked.values()))[None, :], counts)
