import numpy as np
import pytest
import torch

import goldens
from evade.optimisers import Adafactor, warmup_constant, warmup_rsqrt


@pytest.mark.parametrize(
    ("key", "schedule"), [("lr", warmup_rsqrt(1.5, 8000)), ("lr_stochastic", warmup_constant(0.002, 2000))]
)
def test_learning_rates_match_t2t_simple(key, schedule):
    golden = goldens.load("train_step")
    ours = [schedule(int(step)) for step in golden[f"{key}/steps"]]
    np.testing.assert_allclose(ours, golden[f"{key}/values"], rtol=1e-6)


def test_first_update_of_a_vector_is_its_sign_times_its_own_size():
    # From empty moments g / sqrt((1 - decay) g^2) is a constant times the sign, which clipping brings to RMS 1.
    parameter = torch.nn.Parameter(torch.tensor([3.0, -4.0]))
    parameter.grad = torch.tensor([0.1, -5.0])
    Adafactor([parameter], lambda update: 0.01).step()
    size = np.sqrt((9 + 16) / 2)
    np.testing.assert_allclose(parameter.detach(), [3 - 0.01 * size, -4 + 0.01 * size], rtol=1e-6)


def test_a_tiny_variable_still_moves():
    parameter = torch.nn.Parameter(torch.zeros(4))
    parameter.grad = torch.ones(4)
    Adafactor([parameter], lambda update: 1.0).step()
    np.testing.assert_allclose(parameter.detach(), -1e-3, rtol=1e-5)


def test_moments_are_factored_over_channels_for_every_filter_position():
    parameter = torch.nn.Parameter(torch.randn(5, 7, 3, 3))
    parameter.grad = torch.randn(5, 7, 3, 3)
    optimiser = Adafactor([parameter], warmup_rsqrt(1.5, 10))
    optimiser.step()
    assert {name: tuple(moment.shape) for name, moment in optimiser.state[parameter].items()} == {
        "over_second": (5, 3, 3),
        "over_first": (7, 3, 3),
    }


def test_continues_exactly_from_its_state_dict():
    torch.manual_seed(0)
    first = torch.nn.Parameter(torch.randn(4, 3))
    second = torch.nn.Parameter(first.detach().clone())
    gradients = torch.randn(6, 4, 3)
    straight, broken = (Adafactor([p], warmup_rsqrt(0.5, 3)) for p in (first, second))
    for gradient in gradients:
        first.grad = gradient
        straight.step()
    for gradient in gradients[:3]:
        second.grad = gradient
        broken.step()
    resumed = Adafactor([second], warmup_rsqrt(0.5, 3))
    resumed.load_state_dict(broken.state_dict())
    for gradient in gradients[3:]:
        second.grad = gradient
        resumed.step()
    assert torch.equal(first, second)
