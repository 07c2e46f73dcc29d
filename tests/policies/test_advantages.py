import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import goldens
from evade.policies.advantages import compute_advantages, normalise


def bools(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def test_values_match_t2t_simple_once_its_end_flags_are_shifted():
    # T2T SimPLe masks the step at t with the flag of t + 1 (docs/deviations.md); given that flag, both agree.
    golden = goldens.load("ppo")
    value = torch.from_numpy(golden["in/value"])
    done_after = bools(golden["in/done"][1:])
    assert done_after.any()
    result = compute_advantages(
        torch.from_numpy(golden["in/reward"][:-1]),
        value[:-1],
        value[1:],
        terminated=done_after,
        truncated=torch.zeros_like(done_after),
        discount=float(golden["hp/gae_gamma"]),
        gae_lambda=float(golden["hp/gae_lambda"]),
    )
    goldens.close(result.advantage, golden["out/advantage"], 1e-5)
    goldens.close(result.returns, golden["out/return"], 1e-5)
    goldens.close(normalise(result.advantage), golden["out/advantage_normalized"], 1e-5)


def test_small_advantages_stay_small_with_a_floor():
    small, large = torch.tensor([[0.01], [-0.01]]), torch.tensor([[3.0], [1.0]])
    torch.testing.assert_close(normalise(small), torch.tensor([[1.0], [-1.0]]))
    torch.testing.assert_close(normalise(small, floor=0.1), torch.tensor([[0.1], [-0.1]]))
    torch.testing.assert_close(normalise(large, floor=0.1), torch.tensor([[1.0], [-1.0]]))


def test_lambda_one_is_the_discounted_return():
    reward = torch.tensor([[1.0], [2.0], [3.0]])
    value = torch.tensor([[5.0], [6.0], [7.0]])
    next_value = torch.tensor([[6.0], [7.0], [8.0]])
    none = torch.zeros(3, 1, dtype=torch.bool)
    result = compute_advantages(reward, value, next_value, none, none, discount=0.5, gae_lambda=1.0)
    expected = [1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 8, 2 + 0.5 * 3 + 0.25 * 8, 3 + 0.5 * 8]
    torch.testing.assert_close(result.returns.flatten(), torch.tensor(expected))


def test_lambda_zero_is_one_step_ahead():
    reward, value, next_value = torch.rand(3, 6, 2).unbind(0)
    none = torch.zeros(6, 2, dtype=torch.bool)
    result = compute_advantages(reward, value, next_value, none, none, discount=0.9, gae_lambda=0.0)
    torch.testing.assert_close(result.advantage, reward + 0.9 * next_value - value)


@given(st.integers(0, 3), st.sampled_from(["terminated", "truncated"]), st.integers(0, 2**32 - 1))
def test_an_episode_does_not_see_past_its_end(end, kind, seed):
    generator = torch.Generator().manual_seed(seed)
    reward, value, next_value = torch.rand(3, 5, 1, generator=generator).unbind(0)
    ends = {name: torch.zeros(5, 1, dtype=torch.bool) for name in ("terminated", "truncated")}
    ends[kind][end] = True
    whole = compute_advantages(reward, value, next_value, **ends, discount=0.99, gae_lambda=0.95)
    part = slice(0, end + 1)
    alone = compute_advantages(
        reward[part],
        value[part],
        # A game that ended has no next value; one that was cut off has.
        next_value[part] * (1 - ends["terminated"][part].float()),
        torch.zeros(end + 1, 1, dtype=torch.bool),
        torch.zeros(end + 1, 1, dtype=torch.bool),
        discount=0.99,
        gae_lambda=0.95,
    )
    torch.testing.assert_close(whole.advantage[part], alone.advantage)
