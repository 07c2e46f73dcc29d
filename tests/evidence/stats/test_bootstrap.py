import numpy as np
import pytest

from evade.errors import ScoreError
from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import bootstrap_difference, bootstrap_intervals
from evade.evidence.stats.bootstrap import bootstrap, make_rng

SOME = {"a": [0.0, 1.0, 4.0], "b": [2.0, 3.0, 7.0]}


def assert_same_interval(ours, theirs):
    """Two bootstraps with other random numbers agree to a few percent of the interval's width."""
    np.testing.assert_allclose(ours, theirs, atol=0.04 * (theirs[1] - theirs[0]))


def test_agrees_with_rliable_on_the_papers_runs(golden):
    for name in ("simple30", "evade"):
        ours = bootstrap_intervals(headline_scores()[name])
        for metric, theirs in golden["all_26"][name]["interval"].items():
            assert_same_interval(ours[metric], theirs)
    for name, expected in golden["ablation"].items():
        assert_same_interval(bootstrap_intervals(ablation_scores()[name], ["iqm"])["iqm"], expected["interval"]["iqm"])


def test_the_same_seed_gives_the_same_interval_whatever_ran_before():
    scores = headline_scores()["evade"]
    first = bootstrap_intervals(scores, num_resamples=500, seed=3)
    np.random.seed(9)
    reordered = dict(reversed(scores.items()))
    assert bootstrap_intervals(reordered, ["iqm", "mean"], num_resamples=500, seed=3)["iqm"] == first["iqm"]
    assert bootstrap_intervals(scores, num_resamples=500, seed=4)["iqm"] != first["iqm"]


def test_chunks_do_not_change_the_result(monkeypatch):
    whole = bootstrap_intervals(SOME, num_resamples=1000)
    monkeypatch.setattr("evade.evidence.stats.bootstrap._VALUES_AT_ONCE", 7)
    assert bootstrap_intervals(SOME, num_resamples=1000) == whole


def test_resamples_are_computed_in_few_large_chunks_of_bounded_size():
    scores = {f"game{i}": make_rng(i).normal(size=5) for i in range(26)}
    shapes = []

    def statistic(pool):
        shapes.append(pool.values.shape)
        return pool.values.mean(axis=1)

    assert bootstrap(scores, statistic, 20_000, make_rng(0)).shape == (20_000,)
    # 20,000 resamples of 26 x 5 runs are 2.6M values: 3 calls, none of more than 1M values.
    assert [rows for rows, _ in shapes] == [7692, 7692, 4616]
    assert all(columns == 130 for _, columns in shapes)


def test_every_game_is_resampled_from_its_own_runs_alone():
    scores = {"a": [1.0, 2.0], "b": [10.0, 20.0, 30.0], "c": [100.0]}
    values = bootstrap(scores, lambda pool: pool.values, 500, make_rng(0))
    assert values.shape == (500, 6)
    assert set(np.unique(values[:, :2])) == {1, 2}
    assert set(np.unique(values[:, 2:5])) == {10, 20, 30}
    assert set(np.unique(values[:, 5])) == {100}


def test_the_mean_of_one_game_spreads_as_theory_says():
    runs = make_rng(1).normal(size=50)
    low, high = bootstrap_intervals({"a": runs}, ["mean"], num_resamples=50_000)["mean"]
    reach = 1.96 * runs.std() / np.sqrt(50)
    np.testing.assert_allclose([low, high], [runs.mean() - reach, runs.mean() + reach], atol=0.05 * reach)


def test_a_difference_has_the_spread_of_both():
    first = {"a": make_rng(1).normal(size=50)}
    second = {"a": make_rng(2).normal(size=40)}
    interval = bootstrap_difference(first, second, "mean", num_resamples=50_000)
    reach = 1.96 * np.sqrt(first["a"].var() / 50 + second["a"].var() / 40)
    difference = first["a"].mean() - second["a"].mean()
    np.testing.assert_allclose(interval, [difference - reach, difference + reach], atol=0.05 * reach)


def test_a_wider_confidence_gives_a_wider_interval():
    narrow = bootstrap_intervals(SOME, ["mean"], confidence=0.5)["mean"]
    wide = bootstrap_intervals(SOME, ["mean"], confidence=0.99)["mean"]
    assert wide.low < narrow.low < narrow.high < wide.high


def test_single_runs_have_no_interval():
    with pytest.raises(ScoreError, match="every game has a single run"):
        bootstrap_intervals({"a": [1.0], "b": [2.0]})
    low, high = bootstrap_intervals({"a": [1.0], "b": [2.0, 3.0]}, ["mean"])["mean"]
    assert (low, high) == (1.5, 2.0), "the game with one run adds no spread"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_resamples": 0}, "Invalid num_resamples = 0: must be at least 1"),
        ({"confidence": 95}, "Invalid confidence = 95: must be between 0 and 1"),
        ({"seed": -1}, "Invalid seed = -1: must be 0 to"),
    ],
)
def test_impossible_settings_are_named(settings, message):
    with pytest.raises(ScoreError, match=message):
        bootstrap_intervals(SOME, **settings)
