import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from evade.envs import Episode, VectorEnv, make_env
from evade.envs.settings import EnvConfig
from evade.errors import ActionError, ResetNeeded, RewardError
from evade.game_spec import GameSpec
from fake_games import CountingGame


def batch(*games, num_frames=4, seed=0, **spec):
    plain = {"channels": 1, "height": 2, "width": 2, "levels": 256, "num_actions": 2}
    return VectorEnv(games, GameSpec(**{**plain, **spec}), seed, num_frames)


def numbers(observation):
    """What a counting game shows: `[N, K]`."""
    assert (observation == observation[:, :, :1, :1, :1]).all()
    return observation[:, :, 0, 0, 0].tolist()


def test_a_reset_fills_the_stack_with_the_first_frame():
    env = batch(CountingGame(), CountingGame())
    observation = env.reset()
    assert observation.shape == (2, 4, 1, 2, 2)
    assert observation.dtype == np.uint8
    assert numbers(observation) == [[10] * 4] * 2


def test_frames_are_stacked_oldest_first_and_an_ended_game_restarts_within_the_step():
    env = batch(CountingGame(length=3), CountingGame(length=5))
    env.reset()
    steps = [env.step([0, 1]) for _ in range(6)]
    assert [numbers(step.observation) for step in steps] == [
        [[10, 10, 10, 11], [10, 10, 10, 11]],
        [[10, 10, 11, 12], [10, 10, 11, 12]],
        [[20, 20, 20, 20], [10, 11, 12, 13]],
        [[20, 20, 20, 21], [11, 12, 13, 14]],
        [[20, 20, 21, 22], [20, 20, 20, 20]],
        [[30, 30, 30, 30], [20, 20, 20, 21]],
    ]
    assert numbers(steps[2].final_observation) == [[10, 11, 12, 13], [10, 11, 12, 13]]
    assert numbers(steps[4].final_observation) == [[20, 20, 21, 22], [12, 13, 14, 15]]
    assert numbers(steps[3].final_observation) == numbers(steps[3].observation)
    assert [step.terminated.tolist() for step in steps] == [
        [False, False],
        [False, False],
        [True, False],
        [False, False],
        [False, True],
        [True, False],
    ]
    assert not any(step.truncated.any() for step in steps)


def test_one_frame_is_a_stack_too():
    env = batch(CountingGame(), num_frames=1)
    assert numbers(env.reset()) == [[10]]
    assert numbers(env.step([0]).observation) == [[11]]


def test_finished_episodes_carry_raw_return_and_length():
    games = CountingGame(length=2, rewards=(7.0, -0.5)), CountingGame(length=3, rewards=(0.25,))
    env = batch(*games)
    env.reset()
    episodes = [env.step([0, 0]).episodes for _ in range(6)]
    assert episodes == [
        (),
        (Episode(0, 6.5, 2),),
        (Episode(1, 0.75, 3),),
        (Episode(0, 6.5, 2),),
        (),
        (Episode(0, 6.5, 2), Episode(1, 0.75, 3)),
    ]


def test_rewards_are_clipped_for_learning_and_kept_raw_beside():
    env = batch(*(CountingGame(rewards=(reward,)) for reward in (7.0, -7.0, 0.5, 1.5, 0.0)))
    env.reset()
    step = env.step([0] * 5)
    np.testing.assert_array_equal(step.reward, [1, -1, 0, 1, 0])
    np.testing.assert_array_equal(step.raw_reward, [7, -7, 0.5, 1.5, 0])
    assert (step.reward.dtype, step.raw_reward.dtype) == (np.float32, np.float64)


def test_the_range_of_rewards_is_the_specs():
    env = batch(CountingGame(rewards=(7.0,)), CountingGame(rewards=(-7.0,)), lowest_reward=0, highest_reward=5)
    env.reset()
    np.testing.assert_array_equal(env.step([0, 0]).reward, [5, 0])


def test_a_time_limit_truncates_and_an_end_at_the_limit_is_an_end():
    cut, at_limit, by_itself = (
        CountingGame(length=9),
        CountingGame(length=2),
        CountingGame(length=2, cut=True),
    )
    env = batch(TimeLimit(cut, 2), TimeLimit(at_limit, 2), by_itself)
    env.reset()
    env.step([0, 0, 0])
    step = env.step([0, 0, 0])
    assert step.terminated.tolist() == [False, True, False]
    assert step.truncated.tolist() == [True, False, True]
    assert [episode.length for episode in step.episodes] == [2, 2, 2]
    assert numbers(step.final_observation) == [[10, 10, 11, 12]] * 3
    assert numbers(step.observation) == [[20] * 4] * 3


def test_a_second_reset_drops_the_unfinished_episode_and_does_not_seed_again():
    game = CountingGame(length=3)
    env = batch(game)
    env.reset()
    env.step([0])
    assert numbers(env.reset()) == [[20] * 4]
    env.step([0])
    env.step([0])
    assert env.step([0]).episodes == (Episode(0, 21.0, 3),)
    assert game.seeds[0] is not None
    assert game.seeds[1:] == [None, None]


def test_seeds_depend_on_seed_and_place_alone():
    def seeds(num_envs, seed):
        games = [CountingGame() for _ in range(num_envs)]
        batch(*games, seed=seed).reset()
        return [game.seeds[0] for game in games]

    assert seeds(3, 0)[:2] == seeds(2, 0)
    assert len({*seeds(3, 0), *seeds(3, 1)}) == 6


def test_arrays_of_a_step_belong_to_the_caller():
    env = batch(CountingGame(length=3, rewards=(1.0, 2.0, 7.0)))
    first = env.reset()
    given = [env.step([0]) for _ in range(4)]
    assert numbers(first) == [[10] * 4]
    assert numbers(given[0].observation) == [[10, 10, 10, 11]]
    assert given[2].terminated.tolist() == [True]
    assert given[2].raw_reward.tolist() == [7.0]
    given[3].observation[:] = 99
    assert numbers(env.step([0]).observation) == [[20, 20, 21, 22]]


def test_each_game_gets_its_own_action_as_a_plain_number():
    games = [CountingGame(length=9) for _ in range(3)]
    env = batch(*games)
    env.reset()
    env.step(np.array([0, 1, 0]))
    env.step(np.array([1, 1, 0], np.uint8))
    assert [game.actions for game in games] == [[0, 1], [1, 1], [0, 0]]
    assert type(games[0].actions[0]) is int


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0], r"shape \(1,\)"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([0.0, 1.0], "type float64"),
        ([0, 2], "Invalid actions from 0 to 2: must be 0 to 1 in this game"),
        ([-1, 0], "actions from -1 to 0"),
    ],
)
def test_impossible_actions_are_refused_before_any_game_moves(actions, message):
    games = CountingGame(), CountingGame()
    env = batch(*games)
    env.reset()
    with pytest.raises(ActionError, match=message):
        env.step(actions)
    assert [game.steps for game in games] == [0, 0]


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
        batch(CountingGame()).step([0])


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_refused(reward):
    env = batch(CountingGame(), CountingGame(rewards=(reward,)))
    env.reset()
    with pytest.raises(RewardError, match=f"Invalid reward {reward} of game 1 of the batch: must be finite"):
        env.step([0, 0])


def test_closing_closes_every_game():
    games = CountingGame(), CountingGame()
    batch(*games).close()
    assert all(game.is_closed for game in games)


def play(game, num_envs, seed, num_steps, config):
    """Everything a batch returns to a player with a fixed sequence of actions, game by game."""
    env = make_env(game, num_envs, seed, config)
    seen = [[] for _ in range(num_envs)]
    env.reset()
    for turn in range(num_steps):
        step = env.step([turn * 7 // 3 % env.spec.num_actions] * num_envs)
        for index in range(num_envs):
            seen[index].append(tuple(value[index].tobytes() for value in step[:6]))
    env.close()
    return seen


@pytest.mark.parametrize(
    ("game", "num_steps", "config"),
    [
        ("minatar/asterix", 400, EnvConfig(sticky_probability=0.1)),
        ("minatar/freeway", 400, EnvConfig(time_limit=30)),
        ("atari/breakout", 60, EnvConfig(time_limit=25)),
        ("minigrid/DoorKey-5x5", 300, EnvConfig()),
    ],
)
def test_a_game_is_the_same_alone_in_company_and_again(game, num_steps, config):
    company = play(game, 3, seed=4, num_steps=num_steps, config=config)
    assert company == play(game, 3, seed=4, num_steps=num_steps, config=config)
    assert company[0] == play(game, 1, seed=4, num_steps=num_steps, config=config)[0]
    assert company[0] != company[1]
    assert company[0] != play(game, 1, seed=5, num_steps=num_steps, config=config)[0]


def test_a_reward_that_is_rounded_away_is_said_once_and_scaling_brings_it_back(monkeypatch):
    monkeypatch.setattr(VectorEnv, "has_warned", False)
    env = batch(CountingGame(rewards=(0.4,)))
    env.reset()
    with pytest.warns(RuntimeWarning, match=r"a reward of 0.4 is rounded to 0.*--env.reward-scale"):
        assert env.step([0]).reward.tolist() == [0.0]
    assert env.step([0]).reward.tolist() == [0.0]
    plain = GameSpec(channels=1, height=2, width=2, levels=256, num_actions=2)
    scaled = VectorEnv([CountingGame(rewards=(0.4,))], plain, 0, reward_scale=2.5)
    scaled.reset()
    step = scaled.step([0])
    assert (step.reward.tolist(), step.raw_reward.tolist()) == ([1.0], [0.4])


def test_kept_games_go_on_and_the_others_begin_as_in_a_new_batch():
    config, rng = EnvConfig(num_frames=3), np.random.default_rng(0)
    games, alone, fresh = (make_env("minatar/asterix", 4, seed, config) for seed in (1, 1, 2))
    played = rng.integers(games.spec.num_actions, size=(2, 40, 4))
    for env in (games, alone):
        env.reset()
        for action in played[0]:
            last = env.step(action).observation
    games.keep(2, seed=2)
    began = games.reset()
    np.testing.assert_array_equal(began[:2], last[:2])
    np.testing.assert_array_equal(began[2:], fresh.reset()[2:])
    for action in played[1]:
        step, as_alone, as_fresh = games.step(action), alone.step(action), fresh.step(action)
        np.testing.assert_array_equal(step.observation[:2], as_alone.observation[:2])
        np.testing.assert_array_equal(step.observation[2:], as_fresh.observation[2:])
    # Once only: the next reset begins all games.
    np.testing.assert_array_equal(games.reset()[0], games.reset()[0][-1:].repeat(3, 0))


def test_a_kept_game_has_its_whole_return_and_length():
    env = batch(CountingGame(length=5))
    env.reset()
    for _ in range(3):
        env.step([0])
    env.keep(1, seed=0)
    env.reset()
    env.step([0])
    assert env.step([0]).episodes == (Episode(env=0, raw_return=35.0, length=5),)
