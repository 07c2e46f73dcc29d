import sys

import gymnasium
import minatar
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from evade.envs.games import MINATAR
from evade.envs.minatar import MinAtarGame
from evade.envs.pictures import BACKGROUND, COLOURS
from evade.errors import ActionError, ExtraMissing

GAMES = [game.id for game in MINATAR]
MINIMAL = {
    "asterix": [0, 1, 2, 3, 4],
    "breakout": [0, 1, 3],
    "freeway": [0, 2, 4],
    "seaquest": [0, 1, 2, 3, 4, 5],
    "space_invaders": [0, 1, 3, 5],
}
CHANNELS = {"asterix": 4, "breakout": 4, "freeway": 7, "seaquest": 10, "space_invaders": 6}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("sticky", [0.0, 0.1])
def test_gymnasiums_checker_finds_nothing(game, sticky, register):
    name = register(MinAtarGame, game=game, sticky_probability=sticky)
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("game", GAMES)
def test_spaces_match_the_game(game):
    env = MinAtarGame(game)
    assert env.observation_space.shape == (CHANNELS[game], 10, 10)
    assert env.observation_space.dtype == np.uint8
    assert env.action_space.n == len(MINIMAL[game])
    assert MinAtarGame(game, minimal_actions=False).action_space.n == 6


@pytest.mark.parametrize("minimal", [True, False])
@pytest.mark.parametrize("game", GAMES)
def test_the_game_is_minatars_own(game, minimal):
    env = MinAtarGame(game, sticky_probability=0.1, minimal_actions=minimal)
    original = minatar.Environment(game)
    env.reset(seed=8)
    original.seed(int(np.random.default_rng(np.random.SeedSequence(8)).integers(2**32)))
    original.reset()
    rng = np.random.default_rng(0)
    actions = MINIMAL[game] if minimal else range(6)
    num_ends = 0
    for _ in range(3000):
        action = rng.integers(len(actions))
        frame, reward, terminated, truncated, _ = env.step(action)
        expected_reward, is_over = original.act(actions[action])
        np.testing.assert_array_equal(frame, original.state().transpose(2, 0, 1))
        assert (reward, terminated or truncated) == (expected_reward, is_over)
        if is_over:
            num_ends += 1
            frame, _ = env.reset()
            original.last_action = 0
            original.reset()
            np.testing.assert_array_equal(frame, original.state().transpose(2, 0, 1))
    assert num_ends >= 1


@pytest.mark.parametrize("game", GAMES)
def test_only_freeways_timer_truncates(game):
    env = MinAtarGame(game)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    terminated = truncated = False
    length = 0
    while not (terminated or truncated):
        *_, terminated, truncated, _ = env.step(rng.integers(env.action_space.n))
        length += 1
    assert truncated == (game == "freeway")
    assert (length == 2501) == (game == "freeway")


def trace(env, seed):
    frames = [env.reset(seed=seed)[0]]
    for _ in range(100):
        frame, _, terminated, _, _ = env.step(env.action_space.n - 1)
        frames.append(env.reset()[0] if terminated else frame)
    return np.stack(frames)


@pytest.mark.parametrize("game", GAMES)
def test_a_seed_determines_everything_that_follows(game):
    fresh, used = (MinAtarGame(game, sticky_probability=0.5) for _ in range(2))
    trace(used, seed=1)
    np.testing.assert_array_equal(trace(fresh, seed=2**40), trace(used, seed=2**40))


@pytest.mark.parametrize("game", ["asterix", "seaquest"])
def test_seeds_differ(game):
    env = MinAtarGame(game)
    assert not np.array_equal(trace(env, seed=1), trace(env, seed=2))


def test_no_action_sticks_across_episodes():
    env = MinAtarGame("breakout", sticky_probability=0.999)
    paddle = env.reset(seed=0)[0][0]
    env._game.last_action = 3  # as if the episode before had ended with a step to the right
    env.reset()
    np.testing.assert_array_equal(env.step(2)[0][0], paddle)


def test_without_stickiness_every_action_counts():
    env = MinAtarGame("breakout")
    frame, _ = env.reset(seed=0)
    column = frame[0, 9].argmax()
    for action, move in ((2, 1), (1, -1), (0, 0)):
        frame = env.step(action)[0]
        column += move
        assert frame[0, 9].argmax() == column


def test_difficulty_ramping_can_be_switched_off():
    env = MinAtarGame("asterix", difficulty_ramping=False)
    env.reset(seed=0)
    assert env._game.env.ramping is False


@pytest.mark.parametrize("game", GAMES)
def test_no_reward_is_negative(game):
    env = MinAtarGame(game)
    env.reset(seed=0)
    rng = np.random.default_rng(1)
    rewards = []
    for _ in range(3000):
        _, reward, terminated, _, _ = env.step(rng.integers(env.action_space.n))
        rewards.append(reward)
        if terminated:
            env.reset()
    assert min(rewards) == 0
    assert isinstance(rewards[0], float)


def test_a_rendered_image_shows_paddle_ball_and_bricks():
    env = MinAtarGame("breakout", render_mode="rgb_array", render_scale=5)
    env.reset(seed=0)
    env.step(0)
    image = env.render()
    assert image.shape == (50, 50, 3)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image[45, 20], COLOURS[0])  # the paddle starts in column 4
    np.testing.assert_array_equal(image[5, 0], COLOURS[3])  # bricks fill rows 1 to 3
    np.testing.assert_array_equal(image[0, 0], BACKGROUND)
    assert (image.reshape(-1, 3) == COLOURS[1]).all(axis=1).sum() == 25  # one ball of 5x5 pixels


def test_without_a_render_mode_there_is_no_image():
    env = MinAtarGame("breakout")
    env.reset(seed=0)
    assert env.render() is None


@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_the_game_does_not_have_is_refused(action):
    env = MinAtarGame("breakout")
    env.reset(seed=0)
    with pytest.raises(ActionError, match=f"Invalid action {action}: must be 0 to 2 in this game"):
        env.step(action)


def test_without_minatar_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "minatar", None)
    with pytest.raises(ExtraMissing, match=r"minatar is not installed: run  pip install 'evade\[minatar\]'"):
        MinAtarGame("breakout")
