"""Comparisons of methods: wins and losses, best-of counts, probability of improvement."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evade.errors import ScoreError
from evade.evidence.stats.bootstrap import Interval, bootstrap, make_rng, percentile_interval
from evade.evidence.stats.scores import FloatArray, Pool, Scores, check_same_games, check_scores


class Record(NamedTuple):
    """The number of games in which one method's mean score is above, below or equal to another's."""

    wins: int
    losses: int
    ties: int

    def show(self, digits: int) -> str:
        """`7W,19L` as in the paper; ties are appended if there are any."""
        del digits
        return f"{self.wins}W,{self.losses}L" + (f",{self.ties}T" if self.ties else "")


def wins_and_losses(first: Scores, second: Scores) -> Record:
    """Count the first method's wins, losses and ties against the second, by mean score in each game."""
    check_same_games(first, second)
    mine, other = _game_means(first), _game_means(second)
    signs = [np.sign(mine[game] - other[game]) for game in mine]
    return Record(signs.count(1), signs.count(-1), signs.count(0))


def best_of_counts(methods: Mapping[str, Scores]) -> dict[str, int]:
    """Count the games in which each method has the highest mean score; a tie counts for all tied methods."""
    if not methods:
        raise ScoreError("there are no methods to compare: give at least one.")
    means = {name: _game_means(scores) for name, scores in methods.items()}
    reference = next(iter(methods.values()))
    for scores in methods.values():
        check_same_games(reference, scores)
    best = {game: max(mean[game] for mean in means.values()) for game in reference}
    return {name: sum(mean[game] == best[game] for game in best) for name, mean in means.items()}


def probability_of_improvement(first: Scores, second: Scores) -> float:
    """The probability that a run of the first beats a run of the second in a random game (Agarwal et al. 2021).

    For each game, the share of pairs of runs in which the first scores more, with ties counted as half; then the
    mean over games. 0.5 means no difference.
    """
    return float(np.mean([table.mean() for table in _pair_tables(first, second)]))


def improvement_interval(
    first: Scores, second: Scores, *, num_resamples: int = 20_000, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Compute an interval for `probability_of_improvement`; the runs of both methods are resampled."""
    tables = _pair_tables(first, second)
    rng = make_rng(seed)
    rows = bootstrap(_run_numbers(first), _integers, num_resamples, rng)
    columns = bootstrap(_run_numbers(second), _integers, num_resamples, rng)
    total = np.zeros(num_resamples)
    row_start = column_start = 0
    for table in tables:
        chosen_rows = rows[:, row_start : row_start + table.shape[0]].astype(np.int64)
        chosen_columns = columns[:, column_start : column_start + table.shape[1]].astype(np.int64)
        total += table[chosen_rows[:, :, None], chosen_columns[:, None, :]].mean(axis=(1, 2))
        row_start, column_start = row_start + table.shape[0], column_start + table.shape[1]
    return percentile_interval(total / len(tables), confidence)


def _game_means(scores: Scores) -> dict[str, float]:
    return {game: float(runs.mean()) for game, runs in check_scores(scores).items()}


def _pair_tables(first: Scores, second: Scores) -> list[FloatArray]:
    """For each game `[runs of first, runs of second]`: 1 where the first is higher, 0.5 where equal, else 0."""
    check_same_games(first, second)
    other = check_scores(second)
    return [(np.sign(runs[:, None] - other[game][None, :]) + 1) / 2 for game, runs in check_scores(first).items()]


def _run_numbers(scores: Scores) -> dict[str, FloatArray]:
    """Replace each score by its run's index, so that a bootstrap returns which runs it picked."""
    return {game: np.arange(len(runs), dtype=np.float64) for game, runs in scores.items()}


def _integers(pool: Pool) -> FloatArray:
    return pool.values
