import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from evade.config.presets import build_config
from evade.envs import make_env
from evade.envs.atari import build_atari
from evade.envs.games import ATARI_100K, resolve
from evade.envs.settings import EnvConfig
from evade.errors import ExtraMissing

MINIMAL_ACTIONS = {
    "alien": 18, "amidar": 10, "assault": 7, "asterix": 9, "bank_heist": 18, "battle_zone": 18,
    "boxing": 18, "breakout": 4, "chopper_command": 18, "crazy_climber": 9, "demon_attack": 6,
    "freeway": 3, "frostbite": 18, "gopher": 8, "hero": 18, "jamesbond": 18, "kangaroo": 18,
    "krull": 18, "kung_fu_master": 14, "ms_pacman": 9, "pong": 6, "private_eye": 18, "qbert": 6,
    "road_runner": 18, "seaquest": 18, "up_n_down": 6,
}  # fmt: skip


@pytest.mark.parametrize("game", ATARI_100K, ids=lambda game: game.id)
def test_every_game_of_atari_100k_loads_and_steps(game):
    env = make_env(game.name, seed=1, config=EnvConfig(max_noops=1))
    assert env.spec.num_actions == MINIMAL_ACTIONS[game.id]
    first = env.reset()
    assert first.shape == (1, 4, 3, 105, 80)
    assert (first[0] == first[0, 0]).all()
    step = env.step([env.spec.num_actions - 1])
    assert step.observation.dtype == np.uint8
    np.testing.assert_array_equal(step.observation[0, :3], first[0, 1:])
    assert step.observation[0, 3].max() > 0
    assert step.reward.item() in (-1, 0, 1)
    assert not step.terminated.item()
    env.close()


def test_small_things_are_still_seen_at_the_laptops_size_and_greys():
    settings = build_config("atari-laptop").env
    env = make_env("atari/pong", seed=1, config=settings)
    env.reset()
    columns = set()
    for _ in range(120):
        field = env.step([0]).observation[0, -1, 0, 8:-5, 4:-5]  # between the walls and the bats
        ball = (field != np.median(field)).any(axis=0)
        columns |= set(np.flatnonzero(ball))
    assert columns == set(range(field.shape[1]))
    env.close()


def raw_emulator(game, seed):
    """Gymnasium's own game without frame skip and sticky actions, with the seed of the first game of a batch."""
    env = gymnasium.make(game, frameskip=1, repeat_action_probability=0.0, disable_env_checker=True)
    env.reset(seed=int(np.random.SeedSequence([seed, 0]).generate_state(1)[0]))
    return env


@pytest.mark.parametrize("game", ["ALE/Pong-v5", "ALE/Boxing-v5"])
def test_the_protocol_is_t2t_simples_frame_by_frame(game):
    env = make_env(game, seed=5, config=EnvConfig(max_noops=1))
    emulator = raw_emulator(game, seed=5)

    def play(action):
        frames, rewards = [], []
        for _ in range(4):
            frame, reward, *_ = emulator.step(action)
            frames.append(frame.astype(int))
            rewards.append(reward)
        pooled = np.maximum(frames[2], frames[3])
        reduced = pooled.reshape(105, 2, 80, 2, 3).sum(axis=(1, 3)) // 4
        return reduced.transpose(2, 0, 1), sum(rewards)

    np.testing.assert_array_equal(env.reset()[0, -1], play(0)[0])
    rng = np.random.default_rng(0)
    total = 0.0
    for action in rng.integers(env.spec.num_actions, size=150):
        step, (frame, reward) = env.step([action]), play(action)
        np.testing.assert_array_equal(step.observation[0, -1], frame)
        assert step.raw_reward.item() == reward
        assert step.reward.item() == np.clip(reward, -1, 1)
        total += abs(reward)
    assert total > 0
    env.close()
    emulator.close()


def test_only_the_protocol_limits_time():
    env = build_atari(resolve("atari/pong"), EnvConfig())
    assert env.unwrapped.ale.getInt("max_num_frames_per_episode") == 0  # 0: no limit
    env.close()


def test_a_lost_life_ends_nothing():
    env = build_atari(resolve("atari/breakout"), EnvConfig())
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(2000):
        _, _, terminated, truncated, info = env.step(rng.integers(4))
        if info["lives"] == 4:
            break
        assert info["lives"] == 5
    assert info["lives"] == 4
    assert not terminated
    assert not truncated
    env.close()


def test_a_game_ends_when_all_lives_are_lost():
    env = make_env("atari/breakout", seed=0)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(1000):
        step = env.step(rng.integers(4, size=1))
        if step.episodes:
            break
    assert step.terminated.item()
    assert not step.truncated.item()
    env.close()


def test_rewards_above_one_are_learnt_as_one_and_scored_in_full():
    env = make_env("atari/ms_pacman", seed=0)
    env.reset()
    raw, clipped = 0.0, 0.0
    for _ in range(80):
        step = env.step([2])
        raw, clipped = raw + step.raw_reward.item(), clipped + step.reward.item()
    assert raw >= 10 * clipped > 0  # a dot is worth 10
    env.close()


def play_trace(config, seed):
    env = make_env("atari/breakout", num_envs=1, seed=seed, config=config)
    trace = [env.reset()]
    trace += [env.step([1 + turn % 3]).observation for turn in range(60)]
    env.close()
    return np.stack(trace)


def test_sticky_actions_are_off_and_can_be_switched_on():
    plain = EnvConfig(max_noops=0)
    sticky = EnvConfig(max_noops=0, sticky_probability=0.5)
    np.testing.assert_array_equal(play_trace(plain, 0), play_trace(plain, 1))
    np.testing.assert_array_equal(play_trace(sticky, 0), play_trace(sticky, 0))
    assert not np.array_equal(play_trace(sticky, 0), play_trace(sticky, 1))


def test_the_full_action_set_can_be_chosen():
    env = make_env("atari/pong", config=EnvConfig(minimal_actions=False))
    assert env.spec.num_actions == 18
    env.close()


def test_the_emulator_prints_nothing():
    code = "from evade.envs import make_env; make_env('atari/pong').reset()"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout + result.stderr == ""


def test_without_ale_py_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ExtraMissing, match=r"ale_py is not installed: run  pip install 'evade\[atari\]'"):
        make_env("atari/pong")
