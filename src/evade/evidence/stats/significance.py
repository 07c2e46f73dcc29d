"""The paired t-test; its result says what was paired."""

from typing import Literal, NamedTuple

import numpy as np

from evade.errors import ScoreError
from evade.evidence.stats.aggregate import estimate
from evade.evidence.stats.bootstrap import Interval, tail_levels
from evade.evidence.stats.scores import FloatArray, Scores, check_same_games, check_scores


class PairedTest(NamedTuple):
    """The result of a paired t-test of first minus second."""

    statistic: float
    """t."""
    degrees_of_freedom: int
    p_two_sided: float
    """Probability, under no difference, of a t at least this far from 0 in either direction."""
    p_one_sided: float
    """Probability, under no difference, of a t at least this high: small if the first method is better."""
    mean_difference: float
    interval: Interval
    """95 % interval of the mean difference."""
    effect_size: float
    """Cohen's d of paired data: mean difference / sample deviation of the differences."""
    pairing: str
    """The number of pairs and what a pair consists of."""


def paired_t_test(first: Scores, second: Scores, pair_by: Literal["game", "run"] = "game") -> PairedTest:
    """Test whether the first method scores more than the second.

    Args:
        first: scores of one method.
        second: scores of the other on the same games.
        pair_by: `"game"` pairs the two means of each game (the paper's test); `"run"` pairs runs with the same
            index, which is valid only if those share something, such as a seed.

    Raises:
        ScoreError: the games differ, there are fewer than two pairs, or all differences are equal.
    """
    check_same_games(first, second)
    differences = _differences(check_scores(first), check_scores(second), pair_by)
    count = differences.size
    if count < 2:
        raise ScoreError(f"a paired t-test needs at least two pairs, got {count}: add games or runs.")
    mean, error = estimate(differences)
    deviation = error * count**0.5
    if deviation <= 1e-12 * abs(mean):
        raise ScoreError(f"all {count} differences are {mean:g}: a t-test needs differences that vary.")
    statistic = mean / error
    # Imported here because scipy takes longer to import than the rest of this package.
    from scipy.special import stdtr, stdtrit

    reach = float(stdtrit(count - 1, tail_levels(0.95)[1])) * error
    return PairedTest(
        statistic=statistic,
        degrees_of_freedom=count - 1,
        p_two_sided=float(2 * stdtr(count - 1, -abs(statistic))),
        p_one_sided=float(stdtr(count - 1, -statistic)),
        mean_difference=mean,
        interval=Interval(mean - reach, mean + reach),
        effect_size=mean / deviation,
        pairing=f"{count} pairs of {'game means' if pair_by == 'game' else 'runs with the same index in a game'}",
    )


def _differences(
    first: dict[str, FloatArray], second: dict[str, FloatArray], pair_by: Literal["game", "run"]
) -> FloatArray:
    if pair_by == "game":
        return np.array([first[game].mean() - second[game].mean() for game in first])
    for game in first:
        if first[game].size != second[game].size:
            raise ScoreError(
                f"runs of {game} cannot be paired: the first method has {first[game].size}, the second "
                f"{second[game].size}. Use pair_by='game'."
            )
    return np.concatenate([first[game] - second[game] for game in first])
