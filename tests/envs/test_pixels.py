import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from evade.envs import make_env, spec
from evade.envs.preprocess import area_resize, reduce_greys
from evade.envs.settings import EnvConfig
from evade.errors import ConfigError, UnsupportedGame
from fake_games import PlainGame

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (8, 6, 3), np.uint8)


def image_space(shape):
    return spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    ("space", "observation", "frame", "levels"),
    [
        (image_space((8, 6, 3)), COLOUR, COLOUR.transpose(2, 0, 1), 256),
        (image_space((8, 6)), COLOUR[:, :, 0], COLOUR[None, :, :, 0], 256),
        (image_space((8, 6, 1)), COLOUR[:, :, :1], COLOUR[None, :, :, 0], 256),
        (image_space((3, 8, 6)), COLOUR.transpose(2, 0, 1), COLOUR.transpose(2, 0, 1), 256),
        (spaces.Box(0, 1, (8, 6, 3), bool), COLOUR > 99, (COLOUR > 99).transpose(2, 0, 1), 2),
        (spaces.Box(0, 1, (8, 6, 3), np.uint8), COLOUR % 2, (COLOUR % 2).transpose(2, 0, 1), 2),
        (
            spaces.Box(0, 6, (3, 8, 6), np.int64),
            COLOUR.transpose(2, 0, 1) % 7,
            COLOUR.transpose(2, 0, 1) % 7,
            7,
        ),
        (spaces.MultiBinary([3, 8, 6]), COLOUR.transpose(2, 0, 1) % 2, COLOUR.transpose(2, 0, 1) % 2, 2),
    ],
    ids=[
        "colour",
        "grey",
        "one channel",
        "channels first",
        "booleans",
        "binary",
        "seven values",
        "MultiBinary",
    ],
)
def test_images_and_grids_become_frames(register, space, observation, frame, levels):
    env = make_env(register(PlainGame, space=space, observation=observation.astype(space.dtype)))
    assert env.spec.levels == levels
    assert (env.spec.channels, env.spec.height, env.spec.width) == frame.shape
    assert env.spec.num_actions == 3
    np.testing.assert_array_equal(env.reset()[0, 0], frame)
    np.testing.assert_array_equal(env.step([2]).observation[0, 3], frame)


@pytest.mark.parametrize("shape", [(8, 6), (2, 8, 6)], ids=["one plane", "two planes"])
def test_a_grid_of_a_few_values_becomes_a_binary_channel_for_each(register, shape):
    grid = RNG.integers(0, 4, shape, np.uint8)
    name = register(PlainGame, space=spaces.Box(0, 3, shape, np.uint8), observation=grid)
    env = make_env(name, config=EnvConfig(binary_channels=True))
    planes = grid.reshape(-1, 8, 6)
    assert (env.spec.channels, env.spec.levels) == (3 * len(planes), 2)
    expected = [plane == value for plane in planes for value in (1, 2, 3)]
    np.testing.assert_array_equal(env.reset()[0, 0], np.array(expected, np.uint8))


def test_images_and_binary_grids_keep_their_channels(register):
    images = (COLOUR, COLOUR % 2)
    for image, highest in zip(images, (255, 1), strict=True):
        name = register(PlainGame, space=spaces.Box(0, highest, (8, 6, 3), np.uint8), observation=image)
        env = make_env(name, config=EnvConfig(binary_channels=True))
        assert (env.spec.channels, env.spec.levels) == (3, highest + 1)
        np.testing.assert_array_equal(env.reset()[0, 0], image.transpose(2, 0, 1))


def test_too_many_binary_channels_are_refused(register):
    name = register(PlainGame, space=spaces.Box(0, 65, (8, 6), np.uint8), observation=COLOUR[:, :, 0] % 66)
    with pytest.raises(ConfigError, match=r"env\.binary_channels = True: must be False, because .* 65 channels"):
        make_env(name, config=EnvConfig(binary_channels=True))


def test_of_two_equal_axes_the_last_is_the_channels(register):
    grid = RNG.integers(0, 2, (5, 4, 5), np.uint8)
    env = make_env(register(PlainGame, space=spaces.Box(0, 1, (5, 4, 5), np.uint8), observation=grid))
    np.testing.assert_array_equal(env.reset()[0, 0], grid.transpose(2, 0, 1))


def test_an_image_can_be_resized(register):
    env = make_env(
        register(PlainGame, space=image_space((8, 6, 3)), observation=COLOUR),
        config=EnvConfig(frame_size=(4, 3)),
    )
    mean = COLOUR.astype(int).reshape(4, 2, 3, 2, 3).sum(axis=(1, 3)) // 4
    np.testing.assert_array_equal(env.reset()[0, 0], mean.transpose(2, 0, 1))


def test_an_image_is_resized_before_it_is_quantised(register):
    env = make_env(
        register(PlainGame, space=image_space((8, 6, 3)), observation=COLOUR),
        config=EnvConfig(frame_size=(4, 3), grey_levels=16),
    )
    assert (env.spec.channels, env.spec.height, env.spec.width, env.spec.levels) == (1, 4, 3, 16)
    greys = reduce_greys(area_resize(COLOUR, 4, 3), 16)
    np.testing.assert_array_equal(env.reset()[0, 0], greys.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"frame_size": (4, 3)}, r"frame_size = \(4, 3\)"), ({"grey_levels": 8}, "grey_levels = 8")],
)
def test_a_grid_cannot_be_resized(register, settings, message):
    name = register(PlainGame, space=spaces.Box(0, 1, (3, 8, 6), np.uint8))
    with pytest.raises(ConfigError, match=f"Invalid env.{message}: must be None, .* shows a grid of 2 values"):
        make_env(name, config=EnvConfig(**settings))


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(0, 1, (8, 6, 3), np.float32), "must be a Box of integers"),
        (spaces.Dict(image=image_space((8, 6, 3))), "must be a Box of integers"),
        (spaces.Discrete(9), "must be a Box of integers"),
        (spaces.Box(-1, 1, (8, 6), np.int8), "from -1 to 1: must be integers from 0 to at most 255"),
        (spaces.Box(0, 300, (8, 6), np.int32), "from 0 to 300: must be integers"),
        (spaces.Box(0, 0, (8, 6), np.uint8), "from 0 to 0: must be integers"),
        (image_space((128,)), r"shape \(128,\)"),
        (image_space((4, 8, 6, 3)), r"shape \(4, 8, 6, 3\)"),
        (image_space((80, 80, 80)), "at most 64 channels"),
    ],
)
def test_other_observations_are_refused_with_advice(register, space, message):
    name = register(PlainGame, space=space)
    with pytest.raises(UnsupportedGame, match=message) as caught:
        make_env(name)
    assert name in str(caught.value)
    assert "Wrap the environment" in str(caught.value)


@pytest.mark.parametrize(
    "actions", [spaces.Box(-1, 1, (2,)), spaces.MultiDiscrete([2, 2]), spaces.Discrete(3, start=1)]
)
def test_other_actions_are_refused(register, actions):
    name = register(PlainGame, space=image_space((8, 6)), actions=actions)
    with pytest.raises(UnsupportedGame, match=r"must be Discrete\(n\), counted from 0"):
        spec(name)


def test_a_real_environment_without_images_is_refused():
    with pytest.raises(UnsupportedGame, match="Unsupported observation space Box.* of CartPole-v1"):
        make_env("CartPole-v1")


def test_an_observation_outside_its_space_is_refused(register):
    wrong_shape = register(PlainGame, space=image_space((8, 6)), observation=COLOUR)
    with pytest.raises(UnsupportedGame, match=r"shape \(8, 6, 3\), but its observation_space has shape \(8, 6\)"):
        make_env(wrong_shape).reset()
    too_high = register(PlainGame, space=spaces.Box(0, 1, (8, 6), np.uint8), observation=np.full((8, 6), 2))
    with pytest.raises(UnsupportedGame, match="returned cells from 2 to 2, but its observation_space goes from 0 to 1"):
        make_env(too_high).reset()


def test_stickiness_works_for_any_game(register):
    class Echo(gymnasium.Env):
        observation_space = image_space((1, 1))
        action_space = spaces.Discrete(5)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros((1, 1), np.uint8), {}

        def step(self, action):
            return np.full((1, 1), action, np.uint8), 0.0, False, False, {}

    def echoes(probability):
        env = make_env(register(Echo), seed=1, config=EnvConfig(sticky_probability=probability))
        env.reset()
        return [env.step([turn % 5]).observation[0, -1].item() for turn in range(200)]

    assert echoes(0.0) == [turn % 5 for turn in range(200)]
    sticky = echoes(0.5)
    assert 60 < sum(echo != turn % 5 for turn, echo in enumerate(sticky)) < 140
    assert sticky == echoes(0.5)
