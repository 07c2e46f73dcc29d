"""The paper's data are complete and copied correctly."""

from collections import Counter
from decimal import Decimal

import pytest

from evade.errors import UnknownMethod
from evade.evidence.published import (
    METHODS,
    game_means,
    game_runs,
    game_scores,
    read_human_random,
    read_means,
    read_printed,
    read_runs,
)

SINGLE_LAYER = ("evade-interaction", "evade-weighting", "evade-translation")
GAMES = {row.game for row in read_human_random()}
ABLATION_GAMES = {
    "BankHeist",
    "BattleZone",
    "Breakout",
    "CrazyClimber",
    "DemonAttack",
    "Frostbite",
    "Jamesbond",
    "Kangaroo",
    "Krull",
    "Qbert",
    "RoadRunner",
    "Seaquest",
}


def test_there_are_26_games_with_human_and_random_scores():
    assert len(read_human_random()) == len(GAMES) == 26
    assert all(row.human > row.random and row.table == "tab:baseline_scores" for row in read_human_random())


@pytest.mark.parametrize("method", ["simple30", "evade"])
def test_five_runs_of_every_game(method):
    assert {game: len(runs) for game, runs in game_runs(method).items()} == dict.fromkeys(GAMES, 5)


@pytest.mark.parametrize("method", SINGLE_LAYER)
def test_five_runs_of_the_twelve_games_of_the_ablation(method):
    assert {game: len(runs) for game, runs in game_runs(method).items()} == dict.fromkeys(ABLATION_GAMES, 5)


def test_no_run_is_missing_or_given_twice():
    counted = Counter((row.method, row.game, row.run) for row in read_runs())
    assert len(counted) == 440
    assert set(counted.values()) == {1}
    assert {run for _, _, run in counted} == {1, 2, 3, 4, 5}


def test_every_run_names_the_table_it_stands_in():
    for row in read_runs():
        assert row.table == ("tab:all_scores" if row.game in ABLATION_GAMES else "tab:all_scores_14_game")


def test_six_methods_have_a_mean_in_every_game():
    counted = Counter((row.method, row.game) for row in read_means())
    assert set(counted.values()) == {1}
    assert counted.keys() == {
        (method, game) for method in ("simple15", "simple30", "curl", "otrainbow", "der", "evade") for game in GAMES
    }
    assert {row.table for row in read_means()} == {"tab:all_mean_scores"}


def test_printed_values_are_numbers_about_known_methods_and_games():
    keys = [row[:3] + row[4:] for row in read_printed()]
    assert len(set(keys)) == len(keys) == 169
    for row in read_printed():
        assert Decimal(row.printed).is_finite()
        assert row.method in METHODS
        assert row.game in {"", *ABLATION_GAMES}


def test_runs_and_printed_means_were_copied_from_two_tables_and_agree():
    differing = [
        (method, game)
        for method in ("simple30", "evade")
        for game, runs in game_runs(method).items()
        if abs(sum(runs) / 5 - game_means(method)[game]) > 0.0051
    ]
    assert differing == [("evade", "Breakout")], "the paper itself prints 24.024 for runs whose mean is 24.044"


def test_spot_values_of_each_table():
    assert game_runs("evade")["Pong"] == (6.375, 16.13, 13.03, 10.22, 20.09)
    assert game_runs("evade-translation")["Jamesbond"] == (371.9, 117.2, 23.44, 262.5, 26.56)
    assert game_means("der")["RoadRunner"] == 9600
    assert next(row for row in read_human_random() if row.game == "Alien")[1:3] == (7127.7, 227.8)


def test_an_unknown_method_is_an_error_that_lists_the_known():
    with pytest.raises(UnknownMethod, match="no single runs of 'curl': choose one of evade, evade-interaction"):
        game_runs("curl")
    with pytest.raises(UnknownMethod, match="no mean scores of 'evade-weighting'"):
        game_means("evade-weighting")


def test_a_mean_stands_for_one_run_where_no_runs_are_printed():
    assert game_scores("evade") == game_runs("evade")
    assert game_scores("curl") == {game: (score,) for game, score in game_means("curl").items()}
    with pytest.raises(UnknownMethod, match="no scores of 'muzero': choose one of curl, der, evade, evade-interaction"):
        game_scores("muzero")
