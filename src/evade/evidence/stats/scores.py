"""Scores by game and run: the one form every statistic takes, checked in one place.

Scores are a mapping from a game's name to the scores of its runs. Games may have different numbers of runs: every
statistic then counts each *game* alike, never each run, so a game that was run more often does not weigh more.

Axes: `G` games, `N` runs of all games laid end to end, `S` resamples.
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
    """The runs of all games laid end to end, once or in many resamples."""

    values: FloatArray
    """`[S, N]`, game after game."""
    counts: NDArray[np.int64]
    """`[G]`, how many of the N belong to each game."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """`[G]`: where each game's runs begin."""
        return np.cumsum(self.counts) - self.counts

    @property
    def weights(self) -> NDArray[np.int64]:
        """`[N]`: the smallest whole numbers that give every game the same total; all 1 if no game has more runs."""
        return np.repeat(np.lcm.reduce(self.counts) // self.counts, self.counts)

    @property
    def game_means(self) -> FloatArray:
        """`[S, G]`: the mean of each game's runs."""
        return np.add.reduceat(self.values, self.starts, axis=1) / self.counts


def check_scores(scores: Scores) -> dict[str, FloatArray]:
    """The scores as arrays, with the games in alphabetical order.

    Raises:
        ScoreError: no game, a game without runs, or a score that is not a finite number.
    """
    if not scores:
        raise ScoreError("there are no scores: give at least one game with one run.")
    return {game: check_runs(scores[game], game) for game in sorted(scores)}


def check_runs(runs: Sequence[float] | FloatArray, game: str = "the game") -> FloatArray:
    """One game's scores as an array `[runs]` of finite numbers, or a `ScoreError` that names what is wrong."""
    values = np.asarray(runs, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ScoreError(f"{game} has scores of shape {values.shape}: give a list with one score for each run.")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ScoreError(
            f"{game} has the score {values[bad[0]]} in run {bad[0] + 1}: leave a failed run out, or finish it."
        )
    return values


def check_same_games(first: Scores, second: Scores) -> None:
    """Raise a `ScoreError` that names the difference unless both have the same games."""
    if first.keys() != second.keys():
        raise ScoreError(
            f"the two methods were not run on the same games: only the first has "
            f"{sorted(first.keys() - second.keys())}, only the second has {sorted(second.keys() - first.keys())}."
        )


def has_spread(scores: Scores) -> bool:
    """Whether some game has a second run, without which there is nothing to resample."""
    return any(len(runs) > 1 for runs in scores.values())


def pool_scores(scores: Scores) -> Pool:
    """The scores as one row `[1, N]`."""
    checked = check_scores(scores)
    counts = np.array([runs.size for runs in checked.values()], dtype=np.int64)
    return Pool(np.concatenate(list(checked.values()))[None, :], counts)
