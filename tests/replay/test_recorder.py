"""The recorder changes nothing in the games and misses nothing of them."""

import numpy as np
import torch

from evade.envs import VectorEnv, make_env
from evade.envs.settings import EnvConfig
from evade.envs.tensors import RealEnv
from evade.game_spec import GameSpec
from evade.policies.rollout import roll_out
from evade.replay.recorder import Recorder
from fake_games import CountingGame
from fake_worlds import ScriptedPolicy

SPEC = GameSpec(channels=1, height=2, width=2, levels=256, num_actions=2)


def record(*games, steps):
    """A recorder of counting games after some steps with actions 0 and 1 in turn."""
    recorder = Recorder(VectorEnv(games, SPEC, seed=0, num_frames=2))
    recorder.reset()
    for turn in range(steps):
        recorder.step([turn % 2] * len(games))
    return recorder


def test_the_chunk_is_everything_that_happened_in_order():
    recorder = Recorder(make_env("minatar/breakout", 2, seed=3, config=EnvConfig(num_frames=2)))
    env = RealEnv(recorder, torch.device("cpu"))
    done = []
    rollout = roll_out(ScriptedPolicy([0, 1, 2] * 80, 3), env, 80, torch.Generator(), on_step=done.append)
    chunk = recorder.chunk()
    assert done == list(range(2, 162, 2))
    assert chunk.num_steps == 160
    starts = chunk.position == 0
    unfinished = 2 - int(rollout.terminated[-1].sum())
    assert int(starts.sum()) == len(env.episodes) + unfinished
    assert len(env.episodes) > 2
    steps = ~starts
    # Game by game: the first game's 80 rewards, then the second's.
    assert torch.equal(chunk.reward[steps].float(), rollout.reward.T.flatten())
    assert torch.equal(chunk.terminated[steps], rollout.terminated.T.flatten())
    ends = torch.cat([starts[1:], torch.tensor([True])])
    assert torch.equal(chunk.action[~ends].long(), rollout.action.T.flatten())
    assert torch.equal(chunk.frame[~ends], rollout.observation[:, :, -1].transpose(0, 1).flatten(0, 1))


def test_a_recorded_chunk_of_known_games():
    recorder = record(CountingGame(length=2, rewards=(7.0, -0.5)), CountingGame(length=3, cut=True), steps=3)
    chunk = recorder.chunk()
    # The first game: one whole episode and one step of the next; the second: one truncated episode.
    assert chunk.frame[:, 0, 0, 0].tolist() == [10, 11, 12, 20, 21, 10, 11, 12, 13]
    assert chunk.position.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3]
    assert chunk.action.tolist() == [0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert chunk.raw_reward.tolist() == [0, 7.0, -0.5, 0, 7.0, 0, 7.0, 7.0, 7.0]
    assert chunk.reward.tolist() == [0, 1, 0, 0, 1, 0, 1, 1, 1]
    assert chunk.terminated.tolist() == [False, False, True, False, False, False, False, False, False]
    assert chunk.num_steps == 6
    assert [field.dtype for field in chunk] == [
        *(torch.uint8, torch.uint8, torch.int8, torch.float32, torch.bool, torch.int32),
    ]


def test_an_episode_without_a_step_is_left_out():
    chunk = record(CountingGame(length=2), steps=2).chunk()
    assert chunk.position.tolist() == [0, 1, 2]


def test_the_games_are_not_changed_by_the_recorder():
    config = EnvConfig(num_frames=2, time_limit=30)
    games = make_env("minatar/asterix", 2, seed=1, config=config)
    recorder = Recorder(make_env("minatar/asterix", 2, seed=1, config=config))
    assert recorder.num_envs == 2
    np.testing.assert_array_equal(recorder.reset(), games.reset())
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(games.spec.num_actions, size=2)
        for recorded, plain in zip(recorder.step(actions), games.step(actions), strict=True):
            np.testing.assert_array_equal(recorded, plain)


def test_closing_closes_the_games():
    game = CountingGame()
    Recorder(VectorEnv([game], SPEC, seed=0)).close()
    assert game.is_closed


def test_a_game_that_goes_on_begins_with_what_the_agent_has_seen():
    games = VectorEnv([CountingGame(length=5), CountingGame(length=5)], SPEC, seed=0, num_frames=3)
    games.reset()
    for action in (0, 1, 1):
        games.step([action, 0])
    games.keep(1, seed=0)
    recorder = Recorder(games)
    recorder.reset()
    for _ in range(3):
        recorder.step([1, 1])
    chunk = recorder.chunk()
    assert chunk.frame[:, 0, 0, 0].tolist() == [11, 12, 13, 14, 15, 20, 21, 20, 21, 22, 23]
    assert chunk.position.tolist() == [-2, -1, 0, 1, 2, 0, 1, 0, 1, 2, 3]
    assert chunk.action.tolist() == [1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0]
    assert chunk.is_step.tolist() == [False, False, True, True, False, True, False, True, True, True, False]
    assert chunk.first.tolist() == [0, 0, 0, 0, 0, 5, 5, 7, 7, 7, 7]
    assert chunk.num_steps == 6
