import numpy as np
import pytest

from evade.errors import NormalisationError, ScoreError, UnknownGame
from evade.evidence.stats import (
    Bounds,
    find_game,
    human_bounds,
    human_normalise,
    minatar_bounds,
    normalise,
)


def test_random_play_is_zero_and_the_human_is_one():
    for game, bounds in human_bounds().items():
        np.testing.assert_array_equal(human_normalise({game: bounds})[game], [0, 1])


def test_breakout_by_hand():
    np.testing.assert_allclose(human_normalise({"Breakout": [24.04]})["Breakout"], [(24.04 - 1.7) / (30.5 - 1.7)])


@pytest.mark.parametrize(
    "name", ["MsPacman", "mspacman", "ms_pacman", "Ms-Pacman", "Ms Pacman", "atari/ms_pacman", "ALE/MsPacman"]
)
def test_spellings_of_a_game(name):
    assert find_game(name, human_bounds()) == "MsPacman"
    assert list(human_normalise({name: [1.0]})) == ["MsPacman"]


def test_an_unknown_game_is_an_error_that_suggests_similar_names():
    with pytest.raises(UnknownGame, match=r"'Breakot' is not one of the 26 games .*: did you mean Breakout\?$"):
        human_normalise({"Breakot": [1.0]})
    with pytest.raises(UnknownGame, match="choose one of Alien, Amidar, .*UpNDown"):
        human_normalise({"xyzzy": [1.0]})


def test_one_game_under_two_names_is_refused():
    with pytest.raises(ScoreError, match="Pong is given twice"):
        human_normalise({"Pong": [1.0], "pong": [2.0]})


@pytest.mark.parametrize("bounds", [Bounds(2.0, 2.0), Bounds(3.0, 2.0), Bounds(0.0, float("nan"))])
def test_a_scale_without_length_is_refused(bounds):
    with pytest.raises(NormalisationError, match="game cannot be normalised between"):
        normalise({"game": [1.0]}, {"game": bounds})


def test_minatar_runs_from_random_play_to_dqn():
    assert minatar_bounds()["Breakout"] == Bounds(0.52, 10.0)
    np.testing.assert_allclose(
        normalise({"minatar/space_invaders": [2.9, 44]}, minatar_bounds())["SpaceInvaders"], [0, 1]
    )
