"""Our games as Gymnasium environments, made by their ids."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from evade.envs import make_env
from evade.envs.games import ATARI_100K, DEEPSEA, MINATAR, MINIGRID, resolve
from evade.envs.settings import EnvConfig
from evade.envs.single import GameEnv
from evade.errors import ActionError, ConfigError, ResetNeeded, UnknownGame

OWN_IDS = [env_id for env_id in gymnasium.registry if env_id.startswith("evade/")]


def test_every_documented_game_has_an_id():
    assert OWN_IDS[:2] == ["evade/Dream-v0", "evade/Game-v0"]
    games = [resolve(gymnasium.registry[env_id].kwargs["game"]) for env_id in OWN_IDS[2:]]
    assert games == [*MINATAR, *MINIGRID, *DEEPSEA, *ATARI_100K]
    assert games == [resolve(env_id) for env_id in OWN_IDS[2:]]


def test_importing_the_package_is_enough_and_does_not_load_torch():
    code = (
        "import evade, gymnasium, sys; e = gymnasium.make('evade/MinAtar-Breakout-v0'); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize(
    "env_id",
    ["MinAtar-Breakout", "MinAtar-SpaceInvaders", "MiniGrid-DoorKey-5x5", "DeepSea-10", "Atari-Freeway"],
)
def test_environments_pass_gymnasiums_checker(env_id):
    env = gymnasium.make(f"evade/{env_id}-v0")
    check_env(env.unwrapped)
    env.close()


def test_an_id_is_a_name_of_the_game_it_plays():
    assert resolve("evade/MinAtar-SpaceInvaders-v0").name == "minatar/space_invaders"
    assert resolve("evade/Atari-MsPacman-v0").name == "atari/ms_pacman"
    assert resolve("evade/DeepSea-20-v0").name == "deepsea/20"
    for own in ("evade/Dream-v0", "evade/Game-v0", "evade/Dreams-v0"):
        with pytest.raises(UnknownGame) as caught:
            resolve(own)
        assert "did you mean evade/" not in str(caught.value)


def test_it_plays_the_game_of_the_batch_with_raw_rewards():
    config = EnvConfig(num_frames=3, time_limit=40)
    batch = make_env("minatar/breakout", 1, 7, config)
    env = GameEnv("minatar/breakout", num_frames=3, time_limit=40)
    seed = int(np.random.SeedSequence([7, 0]).generate_state(1)[0])
    first, _ = env.reset(seed=seed)
    assert np.array_equal(first, batch.reset()[0])
    assert np.array_equal(first[0], first[2])
    for action in [1, 2, 0, 2, 2, 1, 1, 0] * 6:
        expected = batch.step([action])
        observation, reward, terminated, truncated, _ = env.step(action)
        assert np.array_equal(observation, expected.final_observation[0])
        assert (reward, terminated, truncated) == (
            expected.raw_reward[0],
            bool(expected.terminated[0]),
            bool(expected.truncated[0]),
        )
        if terminated or truncated:
            break
    else:
        pytest.fail("the time limit did not end the episode")


def test_rendering_shows_the_last_frame():
    env = gymnasium.make("evade/DeepSea-10-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (320, 320, 3)
    assert GameEnv("deepsea/10").render() is None


def test_mistakes_are_named():
    with pytest.raises(ConfigError, match="Invalid setting frames of a game: must be one of num_frames, "):
        gymnasium.make("evade/MinAtar-Breakout-v0", frames=3)
    env = GameEnv("minatar/breakout")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(0)
    env.reset()
    with pytest.raises(ActionError, match="Invalid action 3"):
        env.step(3)
