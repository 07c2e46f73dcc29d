import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import aggregate, estimate, iqm, mean, median, optimality_gap

METRICS = ("mean", "median", "iqm", "optimality_gap")
number = st.floats(-10, 10).map(lambda x: round(x, 6))


@st.composite
def rectangles(draw):
    games, runs = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return np.array(draw(st.lists(st.lists(number, min_size=runs, max_size=runs), min_size=games, max_size=games)))


ragged = st.dictionaries(st.sampled_from("abcdef"), st.lists(number, min_size=1, max_size=5), min_size=1)


def by_game(matrix):
    return {f"game{i:02}": row for i, row in enumerate(matrix)}


@pytest.mark.parametrize("metric", METRICS)
def test_agrees_with_rliable_on_the_papers_runs(golden, metric):
    for name in ("simple30", "evade"):
        assert aggregate(headline_scores()[name], metric) == pytest.approx(
            golden["all_26"][name]["value"][metric], abs=1e-12
        )
    for name, expected in golden["ablation"].items():
        assert aggregate(ablation_scores()[name], metric) == pytest.approx(expected["value"][metric], abs=1e-12)


def test_standard_errors_agree_with_scipy_on_the_papers_runs(golden):
    for name, expected in golden["ablation"].items():
        errors = [estimate(runs).standard_error for runs in ablation_scores()[name].values()]
        np.testing.assert_allclose(errors, expected["scipy_standard_errors"], atol=1e-12)


@given(rectangles())
def test_iqm_is_scipys_trimmed_mean_when_games_have_equally_many_runs(matrix):
    assert iqm(by_game(matrix)) == pytest.approx(scipy.stats.trim_mean(matrix, 0.25, axis=None), abs=1e-12)


@given(ragged)
def test_ragged_scores_count_as_if_each_games_runs_were_repeated(scores):
    size = np.lcm.reduce([len(runs) for runs in scores.values()])
    repeated = {game: list(runs) * (size // len(runs)) for game, runs in scores.items()}
    for metric in METRICS:
        assert aggregate(scores, metric) == pytest.approx(aggregate(repeated, metric), abs=1e-9)


@given(ragged)
def test_every_average_lies_between_the_lowest_and_the_highest_score(scores):
    lowest, highest = min(map(min, scores.values())), max(map(max, scores.values()))
    for metric in ("mean", "median", "iqm"):
        assert lowest - 1e-9 <= aggregate(scores, metric) <= highest + 1e-9


@given(rectangles(), st.randoms())
def test_the_order_of_games_and_runs_does_not_matter(matrix, random):
    games = list(by_game(matrix).items())
    random.shuffle(games)
    shuffled = {game: random.sample(list(runs), len(runs)) for game, runs in games}
    for metric in METRICS:
        assert aggregate(shuffled, metric) == pytest.approx(aggregate(by_game(matrix), metric), abs=1e-12)


def test_by_hand():
    scores = {"a": [0.0, 0.2], "b": [0.4, 0.8], "c": [1.0, 5.0]}
    assert mean(scores) == pytest.approx((0.1 + 0.6 + 3.0) / 3)
    assert median(scores) == pytest.approx(0.6)
    assert iqm(scores) == pytest.approx((0.2 + 0.4 + 0.8 + 1.0) / 4)
    assert optimality_gap(scores) == pytest.approx(1 - (0 + 0.2 + 0.4 + 0.8 + 1 + 1) / 6)


def test_a_single_run_of_a_single_game_is_its_own_average():
    for metric in ("mean", "median", "iqm"):
        assert aggregate({"a": [0.3]}, metric) == pytest.approx(0.3)


def test_estimate_by_hand_and_of_a_single_run():
    assert estimate([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1 / np.sqrt(3)))
    assert estimate([1.0, 2.0, 3.0]).show(2) == "2.00 ± 0.58"
    single = estimate([4.0])
    assert single.mean == 4.0
    assert np.isnan(single.standard_error)
    assert single.show(1) == "4.0"
