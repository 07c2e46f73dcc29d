import numpy as np
import torch

from evade.config import EnvConfig
from evade.envs import make_env
from evade.policies.rollout import roll_out, slice_rollout
from evade.reality import RealEnv
from fake_worlds import ScriptedPolicy


def play(steps=80, num_envs=2, **options):
    games = make_env("minatar/breakout", num_envs, seed=3, config=EnvConfig(**options), num_frames=2)
    seen = []
    env = RealEnv(games, torch.device("cpu"), progress=seen.append)
    rollout = roll_out(ScriptedPolicy([0, 1, 2] * steps, 3), env, steps, torch.Generator())
    return env, rollout, seen


def test_the_chunk_is_all_that_happened_in_order():
    env, rollout, seen = play()
    chunk = env.chunk()
    assert seen == list(range(2, 162, 2))
    assert chunk.num_steps == 160
    starts = chunk.position == 0
    unfinished = 2 - int(rollout.terminated[-1].sum())
    assert int(starts.sum()) == len(env.episodes) + unfinished
    assert len(env.episodes) > 2
    steps = ~starts
    # Game by game: the first game's 80 rewards, then the second's.
    expected = rollout.reward.T.flatten()
    assert torch.equal(chunk.reward[steps].float(), expected)
    assert torch.equal(chunk.terminated[steps], rollout.terminated.T.flatten())
    ends = torch.cat([starts[1:], torch.tensor([True])])
    assert torch.equal(chunk.action[~ends].long(), rollout.action.T.flatten())
    assert torch.equal(chunk.frame[~ends], rollout.observation[:, :, -1].transpose(0, 1).flatten(0, 1))


def test_a_game_that_was_cut_off_is_closed_by_the_value_of_its_last_observation():
    _, rollout, _ = play(steps=12, num_envs=1, time_limit=3)
    assert rollout.truncated[:, 0].tolist() == [False, False, True] * 4
    # Elsewhere the next value is the next observation's.
    going_on = ~rollout.truncated[:-1, 0]
    assert torch.equal(rollout.next_value[:-1, 0][going_on], rollout.value[1:, 0][going_on])
    cut = rollout.truncated[:-1, 0]
    assert (rollout.next_value[:-1, 0][cut] != rollout.value[1:, 0][cut]).any()


def test_slices_keep_every_step_in_its_own_order():
    _, rollout, _ = play(steps=20, num_envs=2)
    sliced = slice_rollout(rollout, 4)
    assert sliced.action.shape == (5, 8)
    for piece in range(4):
        for game in range(2):
            column = piece * 2 + game
            assert torch.equal(sliced.observation[:, column], rollout.observation[5 * piece : 5 * piece + 5, game])
            assert np.array_equal(sliced.reward[:, column], rollout.reward[5 * piece : 5 * piece + 5, game])
