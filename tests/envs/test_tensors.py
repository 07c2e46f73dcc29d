"""Real games as tensors: the numbers are those of the batch of games."""

import numpy as np
import torch

from evade.envs import Episode, VectorEnv, make_env
from evade.envs.settings import EnvConfig
from evade.envs.tensors import RealEnv
from evade.game_spec import GameSpec
from evade.policies.rollout import roll_out
from fake_games import CountingGame
from fake_worlds import ScriptedPolicy

CPU = torch.device("cpu")
SPEC = GameSpec(channels=1, height=2, width=2, levels=256, num_actions=2)


def build(*games, num_frames=2):
    return RealEnv(VectorEnv(games, SPEC, seed=0, num_frames=num_frames), CPU)


def numbers(observation):
    """What counting games show: `[N, K]`."""
    assert observation.dtype == torch.uint8
    return observation[:, :, 0, 0, 0].tolist()


def test_steps_are_those_of_the_games():
    config = EnvConfig(num_frames=3, time_limit=20)
    games = make_env("minatar/asterix", num_envs=3, seed=5, config=config)
    env = RealEnv(make_env("minatar/asterix", num_envs=3, seed=5, config=config), CPU)
    assert env.num_envs == 3
    np.testing.assert_array_equal(env.reset().numpy(), games.reset())
    generator = torch.Generator().manual_seed(0)
    num_truncated = 0
    for _ in range(50):
        action = torch.randint(games.spec.num_actions, (3,), generator=generator)
        step, expected = env.step(action), games.step(action.numpy())
        assert (step.reward.dtype, step.terminated.dtype, step.truncated.dtype) == (
            torch.float32,
            torch.bool,
            torch.bool,
        )
        for field in ("observation", "reward", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(step, field).numpy(), getattr(expected, field))
        assert (step.final_observation is not None) == bool(expected.truncated.any())
        if step.final_observation is not None:
            np.testing.assert_array_equal(step.final_observation.numpy(), expected.final_observation)
        num_truncated += int(expected.truncated.sum())
    assert num_truncated > 0


def test_final_observations_are_given_only_where_a_game_was_cut_off():
    env = build(CountingGame(length=2), CountingGame(length=3, cut=True))
    env.reset()
    steps = [env.step(torch.tensor([0, 1])) for _ in range(3)]
    assert steps[0].final_observation is None
    assert steps[1].final_observation is None, "a game that ended needs no value of its last observation"
    assert steps[1].terminated.tolist() == [True, False]
    assert numbers(steps[1].observation) == [[20, 20], [11, 12]]
    assert steps[2].truncated.tolist() == [False, True]
    assert numbers(steps[2].final_observation) == [[20, 21], [12, 13]]
    assert numbers(steps[2].observation) == [[20, 21], [20, 20]]


def test_episodes_and_the_last_step_are_kept_with_raw_rewards():
    env = build(CountingGame(length=2, rewards=(7.0, -0.5)), CountingGame(length=3, rewards=(0.25,)))
    env.reset()
    assert env.episodes == []
    assert env.last_step is None
    for _ in range(4):
        step = env.step(torch.tensor([0, 0]))
    assert env.episodes == [Episode(0, 6.5, 2), Episode(1, 0.75, 3), Episode(0, 6.5, 2)]
    assert step.reward.tolist() == [0.0, 0.0]
    assert env.last_step.raw_reward.tolist() == [-0.5, 0.25]
    assert numbers(torch.from_numpy(env.last_step.final_observation)) == [[21, 22], [20, 21]]


def test_each_game_is_given_its_own_action():
    games = CountingGame(length=9), CountingGame(length=9)
    env = build(*games)
    env.reset()
    env.step(torch.tensor([0, 1]))
    env.step(torch.tensor([1, 1]))
    assert [game.actions for game in games] == [[0, 1], [1, 1]]


def test_closing_closes_every_game():
    games = CountingGame(), CountingGame()
    build(*games).close()
    assert all(game.is_closed for game in games)


def test_a_rollout_closes_a_truncated_game_with_the_value_of_its_final_observation():
    # Counting games of 3 steps show 10, 11, 12, 13, then 20, 21, ...; a frame of n in 4 cells has the scripted value
    # n (1 + 2 + 3 + 4) = 10 n.
    env = build(CountingGame(length=3, cut=True), CountingGame(length=3))
    rollout = roll_out(ScriptedPolicy([0] * 9, 2), env, 6, torch.Generator())
    assert rollout.truncated[:, 0].tolist() == [False, False, True] * 2
    assert rollout.terminated[:, 1].tolist() == [False, False, True] * 2
    assert rollout.value[:, 0].tolist() == rollout.value[:, 1].tolist() == [100, 110, 120, 200, 210, 220]
    assert rollout.next_value[:, 0].tolist() == [110, 120, 130, 210, 220, 230]
    # A terminated game's next value is that of the next episode's first observation; the learner does not use it.
    assert rollout.next_value[:, 1].tolist() == [110, 120, 200, 210, 220, 300]


def test_a_truncated_minatar_game_is_closed_with_the_value_of_its_final_observation():
    config = EnvConfig(num_frames=2, time_limit=3)
    env = RealEnv(make_env("minatar/breakout", seed=3, config=config), CPU)
    rollout = roll_out(ScriptedPolicy([0, 1, 2] * 12, 3), env, 12, torch.Generator())
    assert rollout.truncated[:, 0].tolist() == [False, False, True] * 4
    # The same games once more: the scripted value of every observation that an action led to.
    games = make_env("minatar/breakout", seed=3, config=config)
    games.reset()
    finals = [games.step([action]).final_observation[0, -1] for action in rollout.action[:, 0].tolist()]
    expected = [float((final.ravel() * np.arange(1, final.size + 1)).sum()) for final in finals]
    assert rollout.next_value[:, 0].tolist() == expected
    cut = rollout.truncated[:-1, 0]
    assert (rollout.next_value[:-1, 0][cut] != rollout.value[1:, 0][cut]).all(), "not the value of the next episode"
