import numpy as np
import pytest
import scipy.stats

from evade.errors import ScoreError
from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import paired_t_test


def test_agrees_with_scipy_on_the_papers_runs(golden):
    expected = golden["evade_against_simple30"]
    test = paired_t_test(headline_scores()["evade"], headline_scores()["simple30"])
    assert test.statistic == pytest.approx(expected["t"], rel=1e-12)
    assert test.p_two_sided == pytest.approx(expected["p_two_sided"], rel=1e-10)
    assert test.p_one_sided == pytest.approx(expected["p_one_sided"], rel=1e-10)
    np.testing.assert_allclose(test.interval, expected["difference_interval"], rtol=1e-10)
    assert test.degrees_of_freedom == 25
    assert test.pairing == "26 pairs of game means"
    assert test.effect_size == pytest.approx(test.statistic / np.sqrt(26))


def test_the_other_way_round_everything_turns():
    first, second = headline_scores()["evade"], headline_scores()["simple30"]
    there, back = paired_t_test(first, second), paired_t_test(second, first)
    assert back.statistic == pytest.approx(-there.statistic)
    assert back.p_two_sided == pytest.approx(there.p_two_sided)
    assert back.p_one_sided == pytest.approx(1 - there.p_one_sided)


def test_pairs_of_runs():
    first, second = ablation_scores()["evade"], ablation_scores()["simple30"]
    test = paired_t_test(first, second, pair_by="run")
    x, y = (np.concatenate(list(scores.values())) for scores in (first, second))
    expected = scipy.stats.ttest_rel(x, y, alternative="greater")
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_one_sided == pytest.approx(expected.pvalue)
    assert test.pairing == "60 pairs of runs with the same index in a game"


def test_games_pair_by_name_not_by_place():
    first, second = {"a": [1.0], "b": [5.0]}, {"b": [4.0], "a": [3.0]}
    assert paired_t_test(first, second).mean_difference == pytest.approx((1 - 3 + 5 - 4) / 2)


@pytest.mark.parametrize(
    ("first", "second", "pair_by", "message"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 3.0]}, "game", "at least two pairs, got 1"),
        ({"a": [1.0], "b": [2.0]}, {"a": [1.0], "b": [2.0]}, "game", "all 2 differences are 0"),
        ({"a": [1.1], "b": [2.1]}, {"a": [1.0], "b": [2.0]}, "game", "all 2 differences are 0.1"),
        ({"a": [1.0], "b": [2.0]}, {"a": [1.0]}, "game", "not run on the same games"),
        ({"a": [1.0, 2.0]}, {"a": [1.0]}, "run", "runs of a cannot be paired: the first method has 2, the second 1"),
    ],
)
def test_what_cannot_be_tested_is_named(first, second, pair_by, message):
    with pytest.raises(ScoreError, match=message):
        paired_t_test(first, second, pair_by)
