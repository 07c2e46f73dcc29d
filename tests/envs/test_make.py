import pytest

from evade.envs import make_env, spec
from evade.envs.games import PREPROCESSING_VERSION
from evade.envs.settings import EnvConfig
from evade.errors import ConfigError, UnknownGame
from evade.game_spec import GameSpec

MINATAR_SPEC = {"height": 10, "width": 10, "levels": 2, "lowest_reward": 0, "highest_reward": 1}


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("atari/pong", GameSpec(3, 105, 80, levels=256, num_actions=6)),
        ("ALE/Freeway-v5", GameSpec(3, 105, 80, levels=256, num_actions=3)),
        ("minatar/breakout", GameSpec(channels=4, num_actions=3, **MINATAR_SPEC)),
        ("minatar/seaquest", GameSpec(channels=10, num_actions=6, **MINATAR_SPEC)),
    ],
)
def test_a_spec_has_the_games_shape_actions_and_rewards(game, expected):
    assert spec(game) == expected
    env = make_env(game, num_envs=2)
    assert env.spec == expected
    assert env.reset().shape == (2, 4, expected.channels, expected.height, expected.width)
    env.close()


def test_an_observation_stacks_the_frames_of_the_settings():
    env = make_env("minatar/breakout", num_envs=2, config=EnvConfig(num_frames=6))
    assert env.num_frames == 6
    assert env.reset().shape == (2, 6, 4, 10, 10)


def test_settings_change_the_spec():
    small = EnvConfig(frame_size=(53, 40), reward_range=(-2, 3), minimal_actions=False)
    assert spec("atari/pong", small) == GameSpec(3, 53, 40, 256, 18, lowest_reward=-2, highest_reward=3)
    assert spec("minatar/breakout", EnvConfig(minimal_actions=False)).num_actions == 6


def test_a_game_of_minatar_is_cut_off_at_its_time_limit():
    env = make_env("minatar/freeway", config=EnvConfig(time_limit=7))
    env.reset()
    steps = [env.step([0]) for _ in range(7)]
    assert [step.truncated.item() for step in steps] == [False] * 6 + [True]
    assert steps[-1].episodes[0].length == 7


def test_freeways_own_timer_comes_before_the_default_limit():
    env = make_env("minatar/freeway")
    env.reset()
    while not (step := env.step([0])).episodes:
        pass
    assert step.truncated.item()
    assert 2499 <= step.episodes[0].length <= 2501


def test_a_large_reward_of_seaquest_is_learnt_as_one():
    env = make_env("minatar/seaquest", seed=0)
    env.reset()
    game = env._envs[0].unwrapped._game.env
    game.sub_y, game.surface, game.diver_count = 1, False, 6
    step = env.step([2])
    assert step.raw_reward.item() == 10
    assert step.reward.item() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "Invalid num_envs = 0: must be at least 1"),
        ({"seed": -1}, "Invalid seed = -1: must not be negative"),
        ({"config": EnvConfig(frame_size=(5, 5))}, "minatar/breakout is a grid of 10x10 cells"),
        ({"config": EnvConfig(grey_levels=4)}, "env.grey_levels = 4: .* minatar/breakout is a grid"),
        ({"config": EnvConfig(max_noops=5, time_limit=5)}, "above env.max_noops = 5"),
    ],
)
def test_impossible_arguments_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        make_env("minatar/breakout", **arguments)


def test_an_unknown_game_is_refused():
    with pytest.raises(UnknownGame, match="did you mean minatar/breakout"):
        make_env("minatar/breakuot")
    with pytest.raises(UnknownGame, match="did you mean minatar/breakout"):
        spec("minatar/breakuot")


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"num_frames": 0}, "num_frames"),
        ({"frame_size": (0, 80)}, "frame_size"),
        ({"grey_levels": 1}, "grey_levels"),
        ({"grey_levels": 257}, "grey_levels"),
        ({"frame_skip": 0}, "frame_skip"),
        ({"max_noops": -1}, "max_noops"),
        ({"time_limit": 0}, "time_limit"),
        ({"reward_range": (1, 1)}, "reward_range"),
        ({"sticky_probability": 1.0}, "sticky_probability"),
    ],
)
def test_impossible_settings_are_refused(settings, field):
    with pytest.raises(ConfigError, match=f"^Invalid env.{field} = .*: must "):
        EnvConfig(**settings)


def test_the_behaviour_has_a_version():
    assert PREPROCESSING_VERSION == 1
