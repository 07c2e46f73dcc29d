"""What people call actions and channels, and one game of a larger batch."""

import gymnasium
import numpy as np
import pytest

from evade.envs import make_env, names, spec
from evade.envs.names import find_names


@pytest.mark.parametrize(
    ("game", "actions", "channels"),
    [
        ("minatar/breakout", ("no-op", "left", "right"), ("paddle", "ball", "trail", "brick")),
        ("atari/freeway", ("noop", "up", "down"), ()),
        ("minigrid/Empty-8x8", ("left", "right", "forward"), None),
        ("deepsea/4", ("left or right", "the other way"), ("diver", "treasure")),
    ],
)
def test_names_are_those_of_the_game(game, actions, channels):
    found = names(game)
    assert found.actions == actions
    assert len(found.actions) == spec(game).num_actions
    if channels is not None:
        assert found.channels == channels
    if found.channels:
        assert len(found.channels) == spec(game).channels


def test_a_game_that_has_no_names_gets_numbers():
    class Nameless(gymnasium.Env):
        action_space = gymnasium.spaces.Discrete(2)
        channels = 3

    assert find_names(Nameless()) == (("action 0", "action 1"), ())


@pytest.mark.parametrize("game", ["minatar/breakout", "atari/breakout"])
def test_one_game_of_a_batch_can_be_played_alone(game):
    batch, alone = make_env(game, 3, seed=7), make_env(game, 1, seed=7, first=2)
    assert np.array_equal(batch.reset()[2], alone.reset()[0])
    for action in (1, 0, 2, 2, 1, 0):
        together, single = batch.step([0, 1, action]), alone.step([action])
        assert np.array_equal(together.observation[2], single.observation[0])
        assert together.reward[2] == single.reward[0]
    batch.close()
    alone.close()
