"""The paired t-test, with what was paired said in its answer."""

from typing import Literal, NamedTuple

import numpy as np

from evade.errors import ScoreError
from evade.evidence.stats.bootstrap import Interval, tail_levels
from evade.evidence.stats.scores import FloatArray, Scores, check_same_games, check_scores


class PairedTest(NamedTuple):
    """The answer of a paired t-test of first minus second."""

    statistic: float
    """t."""
    degrees_of_freedom: int
    p_two_sided: float
    """Probability of a t at least so far from 0 in either direction if there is no difference."""
    p_one_sided: float
    """Probability of a t at least so high if there is no difference: small if the first method is better."""
    mean_difference: float
    interval: Interval
    """95 % interval of the mean difference."""
    effect_size: float
    """Cohen's d of paired data: mean difference over the deviation of the differences."""
    pairing: str
    """What one pair is, and how many there are."""


def paired_t_test(first: Scores, second: Scores, pair_by: Literal["game", "run"] = "game") -> PairedTest:
    """Test whether the first method scores more than the second.

    Args:
        first: scores of one method.
        second: scores of the other on the same games.
        pair_by: `"game"` pairs the two means of each game (the paper's test); `"run"` pairs runs with the same
            place in their lists, which is right only if those share something, such as a seed.

    Raises:
        ScoreError: different games, fewer than two pairs, or differences that are all the same.
    """
    check_same_games(first, second)
    differences = _differences(check_scores(first), check_scores(second), pair_by)
    count = differences.size
    if count < 2:
        raise ScoreError(f"a paired t-test needs at least two pairs, and there is {count}: add games or runs.")
    deviation = float(differences.std(ddof=1))
    mean = float(differences.mean())
    if deviation <= 1e-12 * abs(mean):
        raise ScoreError(f"all {count} differences are {mean:g}: a t-test needs differences that vary.")
    error = deviation / np.sqrt(count)
    statistic = float(mean / error)
    # scipy takes longer to import than everything else here, so only this test waits for it.
    from scipy.special import stdtr, stdtrit

    reach = float(stdtrit(count - 1, tail_levels(0.95)[1])) * error
    return PairedTest(
        statistic=statistic,
        degrees_of_freedom=count - 1,
        p_two_sided=float(2 * stdtr(count - 1, -abs(statistic))),
        p_one_sided=float(stdtr(count - 1, -statistic)),
        mean_difference=mean,
        interval=Interval(float(mean - reach), float(mean + reach)),
        effect_size=mean / deviation,
        pairing=f"{count} pairs of {'game means' if pair_by == 'game' else 'runs with the same number in a game'}",
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
                f"{second[game].size}. Pair by game instead."
            )
    return np.concatenate([first[game] - second[game] for game in first])
