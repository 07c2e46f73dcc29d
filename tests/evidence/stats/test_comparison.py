import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import ScoreError
from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import (
    Record,
    best_of_counts,
    improvement_interval,
    probability_of_improvement,
    wins_and_losses,
)

runs = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=6)
pairs = st.dictionaries(st.sampled_from("abcd"), st.tuples(runs, runs), min_size=1)


def test_probability_of_improvement_agrees_with_rliable(golden):
    expected = golden["evade_against_simple30"]
    first, second = headline_scores()["evade"], headline_scores()["simple30"]
    assert probability_of_improvement(first, second) == pytest.approx(expected["probability_of_improvement"], abs=1e-12)
    low, high = expected["interval"]
    np.testing.assert_allclose(improvement_interval(first, second), [low, high], atol=0.05 * (high - low))


def test_with_different_numbers_of_runs_too(golden):
    expected = golden["different_numbers_of_runs"]
    first = {game: scores[:3] for game, scores in ablation_scores()["evade"].items()}
    second = ablation_scores()["simple30"]
    assert probability_of_improvement(first, second) == pytest.approx(expected["probability_of_improvement"], abs=1e-12)
    low, high = expected["interval"]
    np.testing.assert_allclose(improvement_interval(first, second), [low, high], atol=0.05 * (high - low))


@given(pairs)
def test_it_is_the_mean_of_mann_whitney_statistics(games):
    first = {game: pair[0] for game, pair in games.items()}
    second = {game: pair[1] for game, pair in games.items()}
    each = [
        scipy.stats.mannwhitneyu(x, y, method="asymptotic").statistic / (len(x) * len(y)) for x, y in games.values()
    ]
    assert probability_of_improvement(first, second) == pytest.approx(np.mean(each), abs=1e-12)
    assert probability_of_improvement(second, first) == pytest.approx(1 - np.mean(each), abs=1e-12)


@given(pairs)
def test_wins_losses_and_ties_are_all_games_and_mirror(games):
    first = {game: pair[0] for game, pair in games.items()}
    second = {game: pair[1] for game, pair in games.items()}
    record = wins_and_losses(first, second)
    assert sum(record) == len(games)
    assert wins_and_losses(second, first) == Record(record.losses, record.wins, record.ties)


def test_a_record_shows_ties_only_if_there_are_any():
    assert Record(7, 19, 0).show(3) == "7W,19L"
    assert Record(7, 18, 1).show(3) == "7W,18L,1T"


def test_a_tie_counts_for_every_method_in_it():
    methods = {"x": {"a": [1.0], "b": [2.0]}, "y": {"a": [1.0], "b": [3.0]}, "z": {"a": [0.0], "b": [0.0]}}
    assert best_of_counts(methods) == {"x": 1, "y": 2, "z": 0}


def test_methods_must_share_their_games():
    with pytest.raises(ScoreError, match="not run on the same games"):
        wins_and_losses({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ScoreError, match="not run on the same games"):
        best_of_counts({"x": {"a": [1.0]}, "y": {"b": [1.0]}})
    with pytest.raises(ScoreError, match="not run on the same games"):
        probability_of_improvement({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ScoreError, match="there are no methods"):
        best_of_counts({})
