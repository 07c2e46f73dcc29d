import math

import pytest

from evade.envs.games import ATARI_100K
from evade.errors import ScoreError, TableError
from evade.evidence.published import game_runs
from evade.evidence.results import build_comparison_tables, compare_runs, read_runs
from evade.evidence.stats import Estimate, Interval, Record, find_game
from run_folders import make_finished


def tables(folder, baseline=None, names=()):
    return build_comparison_tables(compare_runs(read_runs([folder]), baseline), names, num_resamples=200)


def cell(table, name, row=0):
    return table.column(name)[row]


def test_the_papers_runs_as_ours_give_the_papers_numbers(tmp_path):
    published = game_runs("evade")
    for game in ATARI_100K:
        for seed, score in enumerate(published[find_game(game.name, published)]):
            make_finished(tmp_path, "evade", game.name, seed, score)
    built = tables(tmp_path, "paper:simple30")
    versus, aggregates = built["versus"], built["aggregates"]
    assert cell(versus, "num_games") == 26
    assert cell(versus, "record") == Record(23, 3, 0)
    assert round(cell(versus, "t"), 3) == 3.287
    assert (round(cell(versus, "p_two_sided"), 4), round(cell(versus, "p_one_sided"), 4)) == (0.0030, 0.0015)
    assert aggregates.column("variant") == ["paper:simple30", "evade"]
    assert [round(value, 3) for value in aggregates.column("mean")] == [0.525, 0.682]
    assert [round(value, 3) for value in aggregates.column("median")] == [0.151, 0.267]
    assert [round(value, 3) for value in aggregates.column("iqm")] == [0.202, 0.339]
    for value, interval in zip(aggregates.column("iqm"), aggregates.column("iqm_interval"), strict=True):
        assert interval.low < value < interval.high


def test_each_game_has_mean_error_and_number_of_runs(tmp_path):
    for seed, score in enumerate((1.0, 2.0, 6.0)):
        make_finished(tmp_path, "evade", "minatar/breakout", seed, score - 0.5, score + 0.5)
    make_finished(tmp_path, "simple", "Game-v0", 0, 4.0)
    table = tables(tmp_path)["games"]
    assert table.column("num_runs") == [3, 1]
    assert cell(table, "score") == pytest.approx(Estimate(3.0, math.sqrt(7 / 3)))
    assert cell(table, "normalised").mean == pytest.approx((3.0 - 0.52) / (10 - 0.52))
    assert cell(table, "normalised", 1) is None
    assert any("no reference scores" in note for note in table.notes)


def test_games_without_reference_scores_have_no_table_of_aggregates(tmp_path):
    for variant, score in (("simple", 0.0), ("evade", 1.0)):
        make_finished(tmp_path, variant, "deepsea/20", 0, score)
    assert list(tables(tmp_path, "simple")) == ["games", "versus"]
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0)
    assert list(tables(tmp_path, "simple")) == ["games", "aggregates", "versus"]


def test_ragged_data_is_compared_where_it_overlaps(tmp_path):
    for seed in range(3):
        for game, score in (("breakout", 2.0), ("freeway", 30.0), ("asterix", 1.0)):
            make_finished(tmp_path, "evade", f"minatar/{game}", seed, score + seed)
    for seed, score in enumerate((1.0, 3.0, 3.0)):
        make_finished(tmp_path, "simple", "minatar/breakout", seed, score)
        make_finished(tmp_path, "simple", "minatar/freeway", seed, 40.0)
    make_finished(tmp_path, "weighting", "minatar/seaquest", 0, 1.0)
    built = tables(tmp_path, "simple")
    assert built["aggregates"].column("num_games") == [2, 3, 1]
    assert built["aggregates"].column("num_runs") == [6, 9, 1]
    notes = built["aggregates"].notes
    assert "MinAtar: the variants have different games, so their aggregates are not comparable." in notes
    assert "weighting has fewer than 3 runs of each game in MinAtar: no interval." in notes
    assert not [note for note in notes if note.startswith(("simple", "evade"))]
    versus = built["versus"]
    assert versus.column("variant") == ["evade"]
    assert cell(versus, "record") == Record(1, 1, 0)
    # Breakout: 2, 3, 4 against 1, 3, 3 are 6 of 9 pairs; Freeway: none.
    assert cell(versus, "probability_of_improvement") == pytest.approx(6 / 9 / 2)
    assert "weighting and simple share no game of MinAtar." in versus.notes


def test_one_game_and_one_run_have_no_test_and_no_interval(tmp_path):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 3.0)
    make_finished(tmp_path, "simple", "minatar/breakout", 0, 2.0)
    built = tables(tmp_path, "simple")
    assert cell(built["versus"], "record") == Record(1, 0, 0)
    for name in ("probability_of_improvement", "probability_of_improvement_interval", "t", "mean_difference"):
        assert cell(built["versus"], name) is None
    assert any("no P(better), because a game has fewer than 3 runs" in note for note in built["versus"].notes)
    assert any("no t-test, because a paired t-test needs at least two pairs" in n for n in built["versus"].notes)
    assert cell(built["aggregates"], "mean_interval") is None


@pytest.mark.parametrize(("num_runs", "says"), [(1, False), (2, False), (3, True)])
def test_nothing_is_said_about_differences_of_runs_from_fewer_than_three(tmp_path, num_runs, says):
    for seed in range(num_runs):
        for game in ("breakout", "freeway"):
            make_finished(tmp_path, "evade", f"minatar/{game}", seed, 3.0 + seed)
            make_finished(tmp_path, "simple", f"minatar/{game}", seed, 2.0 + seed)
    built = tables(tmp_path, "simple")
    assert (cell(built["versus"], "probability_of_improvement") is not None) == says
    assert (cell(built["aggregates"], "mean_interval") is not None) == says
    assert cell(built["aggregates"], "mean") is not None
    assert math.isnan(cell(built["games"], "score").standard_error) != says
    assert any("No standard error is given for fewer than 3 runs" in note for note in built["games"].notes) != says


def test_raw_scores_are_never_averaged_over_games(tmp_path):
    for seed in range(3):
        for game, scale in (("One-v0", 1.0), ("Two-v0", 1000.0)):
            make_finished(tmp_path, "evade", game, seed, 3 * scale + seed)
            make_finished(tmp_path, "simple", game, seed, 2 * scale + seed)
    built = tables(tmp_path, "simple")
    assert "aggregates" not in built
    assert tables(tmp_path, names=["aggregates"])["aggregates"].rows == []
    assert cell(built["versus"], "record") == Record(2, 0, 0)
    # One-v0: 3, 4, 5 against 2, 3, 4 are 7 of 9 pairs; Two-v0: all.
    assert cell(built["versus"], "probability_of_improvement") == pytest.approx((7 / 9 + 1) / 2)
    assert isinstance(cell(built["versus"], "probability_of_improvement_interval"), Interval)
    assert cell(built["versus"], "mean_difference") is None


def test_a_suite_that_the_baseline_did_not_play_is_noted(tmp_path):
    make_finished(tmp_path, "evade", "atari/pong", 0, 3.0)
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 3.0)
    versus = tables(tmp_path, "paper:simple30")["versus"]
    assert versus.column("suite") == ["Atari 100K"]
    assert "evade in MinAtar: paper:simple30 has no comparable scores." in versus.notes


def test_without_a_baseline_there_is_nothing_to_hold_against(tmp_path):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 3.0)
    assert list(tables(tmp_path)) == ["games", "aggregates"]
    with pytest.raises(TableError, match="needs a baseline"):
        tables(tmp_path, names=["versus"])


def test_impossible_resamples_are_an_error_and_not_a_note(tmp_path):
    for seed in range(3):
        make_finished(tmp_path, "evade", "minatar/breakout", seed, 3.0 + seed)
    comparison = compare_runs(read_runs([tmp_path]))
    with pytest.raises(ScoreError, match="num_resamples = 0"):
        build_comparison_tables(comparison, num_resamples=0)
