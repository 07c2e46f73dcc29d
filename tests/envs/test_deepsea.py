import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from evade.envs import make_env, spec
from evade.envs.deepsea import AGENT, TREASURE, DeepSea
from evade.envs.games import DEEPSEA
from evade.envs.pictures import BACKGROUND, COLOURS
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ConfigError, ResetNeeded
from evade.game_spec import GameSpec


def find_path(env):
    """The N actions that find the treasure."""
    return env.right_action.diagonal().tolist()


class Reference:
    """bsuite's deep_sea step, without its move cost and without noise."""

    def __init__(self, size, mapping):
        self.size, self.mapping = size, mapping

    def reset(self):
        self.row = self.column = 0

    def step(self, action):
        reward = 0.0
        action_right = action == self.mapping[self.row, self.column]
        if self.column == self.size - 1 and action_right:
            reward += 1.0
        self.column = int(np.clip(self.column + (1 if action_right else -1), 0, self.size - 1))
        self.row += 1
        return reward, self.row == self.size


@pytest.mark.parametrize("size", [2, 3, 10])
def test_the_game_is_bsuites_deep_sea_without_its_move_cost(size):
    env = DeepSea(size)
    reference = Reference(size, env.right_action)
    rng = np.random.default_rng(size)
    found = 0
    for _ in range(60):
        frame, _ = env.reset()
        reference.reset()
        assert frame[AGENT, 0, 0] == 1
        ended = False
        while not ended:
            # On the way to the treasure with probability 0.8, so that it is found at times.
            right = env.right_action[reference.row, reference.column]
            action = int(right if rng.random() < 0.8 else 1 - right)
            frame, reward, terminated, truncated, _ = env.step(action)
            expected_reward, ended = reference.step(action)
            assert (reward, terminated, truncated) == (expected_reward, ended, False)
            found += reward
            row = min(reference.row, size - 1)
            expected = np.zeros((2, size, size), np.uint8)
            expected[AGENT, row, reference.column] = expected[TREASURE, size - 1, size - 1] = 1
            np.testing.assert_array_equal(frame, expected)
    assert found > 0


@pytest.mark.parametrize("size", [2, 4, 7])
def test_exactly_one_sequence_of_actions_finds_the_treasure(size):
    env = DeepSea(size, puzzle=1)
    found = []
    for number in range(2**size):
        actions = [number >> bit & 1 for bit in range(size)]
        env.reset()
        steps = [env.step(action) for action in actions]
        assert [step[2] for step in steps] == [False] * (size - 1) + [True]
        if sum(step[1] for step in steps):
            found.append(actions)
            assert [step[1] for step in steps] == [0.0] * (size - 1) + [1.0]
    assert found == [find_path(env)]


def test_the_meaning_of_actions_is_the_games_and_not_the_seeds():
    assert find_path(DeepSea(20)) == find_path(DeepSea(20))
    assert find_path(DeepSea(20)) != find_path(DeepSea(20, puzzle=1))
    first, again = make_env("deepsea/20", 3, seed=0), make_env("deepsea/20", 3, seed=9)
    for env in (first, again):
        env.reset()
        steps = [env.step([action] * 3) for action in find_path(DeepSea(20))]
        assert steps[-1].reward.tolist() == [1.0] * 3
        assert [episode.raw_return for episode in steps[-1].episodes] == [1.0] * 3


def test_the_puzzles_never_change():
    # Recorded once: a changed mapping would make runs of the same game incomparable.
    assert find_path(DeepSea(10)) == [0, 0, 1, 1, 0, 1, 1, 1, 1, 1]
    assert find_path(DeepSea(10, puzzle=3)) == [0, 0, 1, 1, 0, 1, 1, 1, 0, 0]


def test_a_puzzle_can_be_chosen_by_name():
    env = make_env("deepsea/10-3")
    env.reset()
    assert [env.step([action]).reward.item() for action in find_path(DeepSea(10, puzzle=3))] == [0.0] * 9 + [1.0]
    env.reset()
    assert not any(env.step([action]).reward.item() for action in find_path(DeepSea(10)))


def test_both_actions_are_shuffled_over_the_cells():
    mapping = DeepSea(50).right_action
    assert set(np.unique(mapping)) == {0, 1}
    assert abs(mapping.mean() - 0.5) < 5 * 0.5 / 50
    # By cell: neither rows nor columns are constant.
    assert (mapping.std(axis=0) > 0).all()
    assert (mapping.std(axis=1) > 0).all()


@pytest.mark.parametrize("game", [*DEEPSEA], ids=lambda game: game.name)
def test_the_documented_sizes(game):
    size = int(game.id)
    assert spec(game.name) == GameSpec(2, size, size, levels=2, num_actions=2, lowest_reward=0, highest_reward=1)


@pytest.mark.parametrize("size", [2, 50])
def test_a_frame_keeps_its_axes_at_every_size(size):
    env = make_env(f"deepsea/{size}", config=EnvConfig(num_frames=1))
    frame = env.reset()[0, 0]
    assert frame.shape == (2, size, size)
    assert frame[AGENT, 0, 0] == frame[TREASURE, -1, -1] == 1
    assert frame.sum() == 2


def test_every_frame_shows_one_diver_and_one_treasure():
    env = DeepSea(6)
    frames = [env.reset()[0]] + [env.step(action)[0] for action in (0, 1, 0, 1, 1, 0)]
    assert all((frame.sum((1, 2)) == 1).all() for frame in frames)


def test_gymnasiums_checker_finds_nothing(register):
    check_env(gymnasium.make(register(DeepSea, size=5)).unwrapped)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1,), "Invalid size = 1: must be 2 to 50"),
        ((51,), "Invalid size = 51: must be 2 to 50"),
        ((5, -1), "Invalid puzzle = -1: must be 0 to"),
    ],
)
def test_impossible_games_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        DeepSea(*arguments)


def test_an_action_the_game_does_not_have_is_refused():
    env = DeepSea(3)
    env.reset()
    with pytest.raises(ActionError, match="Invalid action 2: must be 0 or 1"):
        env.step(2)


def test_a_step_without_a_reset_is_refused():
    env = DeepSea(2)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)
    env.reset()
    env.step(0)
    env.step(0)
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        env.step(0)


def test_actions_can_be_sticky():
    path = find_path(DeepSea(10))
    env = make_env("deepsea/10", 200, seed=0, config=EnvConfig(sticky_probability=0.5))
    env.reset()
    steps = [env.step([action] * 200) for action in path]
    # Each change of action on the path is missed with probability 1/2.
    changes = sum(before != after for before, after in itertools.pairwise(path))
    expected = 0.5**changes
    share = steps[-1].reward.mean()
    assert abs(share - expected) < 5 * (expected * (1 - expected) / 200) ** 0.5


def test_a_rendered_image_shows_diver_and_treasure():
    env = DeepSea(4, render_mode="rgb_array", render_scale=3)
    env.reset()
    image = env.render()
    assert image.shape == (12, 12, 3)
    np.testing.assert_array_equal(image[0, 0], COLOURS[AGENT])
    np.testing.assert_array_equal(image[11, 11], COLOURS[TREASURE])
    np.testing.assert_array_equal(image[6, 6], BACKGROUND)
    assert DeepSea(4).render() is None
