import numpy as np
import pytest

from evade.errors import ScoreError
from evade.evidence.stats.scores import check_same_games, check_scores, has_enough_runs, pool_scores


def test_games_come_back_in_alphabetical_order():
    assert list(check_scores({"b": [1.0], "a": [2.0]})) == ["a", "b"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({}, "there are no scores"),
        ({"Pong": []}, r"Pong has scores of shape \(0,\)"),
        ({"Pong": [[1.0, 2.0]]}, r"Pong has scores of shape \(1, 2\)"),
        ({"Pong": [1.0, float("nan")]}, "Pong has the score nan in run 2: must be finite"),
        ({"Pong": [float("-inf")]}, "Pong has the score -inf in run 1"),
    ],
)
def test_what_cannot_be_scores_is_named(scores, message):
    with pytest.raises(ScoreError, match=message):
        check_scores(scores)


def test_different_games_are_named():
    with pytest.raises(ScoreError, match=r"only the first has \['a'\], only the second has \['c'\]"):
        check_same_games({"a": [1.0], "b": [1.0]}, {"b": [1.0], "c": [1.0]})


def test_a_pool_weighs_games_alike_however_many_runs_they_have():
    pool = pool_scores({"a": [1.0, 2.0], "b": [3.0, 4.0, 5.0], "c": [6.0]})
    assert pool.values.tolist() == [[1, 2, 3, 4, 5, 6]]
    assert pool.weights.tolist() == [3, 3, 2, 2, 2, 6]
    np.testing.assert_allclose(pool.game_means, [[1.5, 4.0, 6.0]])


def test_one_game_with_a_second_run_is_enough_for_a_spread():
    assert has_enough_runs({"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]})
    assert not has_enough_runs({"a": [1.0, 1.0, 1.0], "b": [1.0, 2.0]})
    assert not has_enough_runs({})
