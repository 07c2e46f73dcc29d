import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from evade.world_models.blocks import (
    Activation,
    CellNorm,
    Dropout,
    LocalLayer,
    PositionSignal,
    Standardise,
    initialise,
    mix_channels,
    position_signal,
)


@settings(deadline=None)
@given(channels=st.integers(4, 40), height=st.integers(1, 9), width=st.integers(1, 9))
def test_position_signal_entry_by_entry(channels, height, width):
    signal = position_signal(channels, height, width)
    count = channels // 4
    for k in range(count):
        frequency = 1e4 ** (-k / max(count - 1, 1))
        row, column = height - 1, width - 1
        expected = [math.sin(row * frequency), math.cos(row * frequency)]
        expected += [math.sin(column * frequency), math.cos(column * frequency)]
        actual = signal[k : 4 * count : count, row, column]
        torch.testing.assert_close(actual, torch.tensor(expected), atol=1e-5, rtol=1e-5)
    assert not signal[4 * count :].any()


def test_position_signals_follow_the_size_and_survive_inference_mode():
    module = PositionSignal()
    with torch.inference_mode():
        module(torch.zeros(1, 8, 4, 4))
    x = torch.zeros(1, 8, 4, 4, requires_grad=True)
    module(x).square().sum().backward()
    assert x.grad is not None
    assert torch.equal(module(torch.zeros(1, 8, 3, 5))[0], position_signal(8, 3, 5))
    assert module(torch.zeros(1, 8, 3, 5, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert not module.state_dict()


def test_standardise_in_closed_form():
    x = torch.tensor([[[[0.0, 2.0], [0.0, 2.0]], [[5.0, 5.0], [5.0, 5.0]], [[0.0, 0.4], [0.0, 0.0]]]])
    y = Standardise()(x)
    assert torch.equal(y[0, 0], torch.tensor([[-1.0, 1.0], [-1.0, 1.0]]))
    assert torch.equal(y[0, 1], torch.zeros(2, 2))
    # The deviation, 0.173, is below 1 / sqrt(4), so 0.5 is used.
    torch.testing.assert_close(y[0, 2], torch.tensor([[-0.2, 0.6], [-0.2, -0.2]]))


def test_cell_norm_is_over_the_channels_of_one_cell():
    x = torch.randn(2, 6, 3, 4)
    y = CellNorm(6)(x)
    torch.testing.assert_close(y.mean(1), torch.zeros(2, 3, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(y.var(1, correction=0), torch.ones(2, 3, 4), atol=1e-4, rtol=0)


def test_mixing_channels_is_a_linear_map_of_each_cell():
    layer, frames = nn.Linear(5, 3), torch.randn(2, 5, 4, 6)
    for cells in (frames.permute(0, 2, 3, 1), frames.permute(0, 2, 3, 1).contiguous()):
        mixed = mix_channels(cells, layer.weight, layer.bias)
        torch.testing.assert_close(mixed, layer(cells))
        assert mixed.is_contiguous()
        torch.testing.assert_close(mix_channels(cells, layer.weight, None), mixed - layer.bias)


def test_a_local_layer_is_residual_and_looks_one_cell_around():
    torch.manual_seed(0)
    layer, x, action = LocalLayer(6, 3, "belu"), torch.randn(2, 6, 7, 7), torch.randn(2, 3)
    nudged = x.clone()
    nudged[:, :, 3, 4] += 1
    reached = (layer(nudged, action) != layer(x, action)).any(1)
    assert reached[:, 2:5, 3:6].all()
    assert reached.sum() == 2 * 9
    nn.init.zeros_(layer.convolution.weight)
    nn.init.zeros_(layer.convolution.bias)
    assert torch.equal(layer(x, action), layer.norm(x))


def test_belu_pairs_adjacent_channels():
    x = torch.tensor([2.0, 2.0, -1.0, -1.0]).view(1, 4, 1, 1)
    y = Activation("belu")(x).flatten()
    low = math.exp(-1) - 1
    torch.testing.assert_close(y, torch.tensor([2.0, -(math.exp(-2) - 1), low, -1.0]))


@pytest.mark.parametrize("layer", [nn.Conv2d(64, 128, 4), nn.ConvTranspose2d(128, 64, 4), nn.Linear(320, 128)])
def test_kernels_start_with_variance_scaling(layer):
    torch.manual_seed(0)
    initialise(layer)
    fans = {nn.Conv2d: (64 + 128) * 16, nn.ConvTranspose2d: (64 + 128) * 16, nn.Linear: 320 + 128}[type(layer)] / 2
    assert layer.weight.abs().max().item() == pytest.approx(math.sqrt(3 * 1.3 / fans), rel=1e-3)
    assert layer.weight.var().item() == pytest.approx(1.3 / fans, rel=0.02)
    assert not layer.bias.any()


@pytest.mark.parametrize("memory", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.99])
def test_dropout_zeroes_its_share_and_keeps_the_mean(probability, memory):
    torch.manual_seed(0)
    x = torch.ones(3, 7, 101, 99).contiguous(memory_format=memory).requires_grad_()
    y = Dropout(probability)(x)
    dropped = (y == 0).float().mean().item()
    deviation = math.sqrt(probability * (1 - probability) / x.numel())
    assert dropped == pytest.approx(probability, abs=5 * deviation)
    assert torch.equal(y.unique(), torch.tensor([0, 1 / (1 - round(probability * 2**16) / 2**16)]))
    # Neighbours come from one random number, and must not know of each other.
    together = ((y[:, 1:] == 0) & (y[:, :-1] == 0)).float().mean().item()
    assert together == pytest.approx(probability**2, abs=0.005)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_is_nothing_at_zero_and_outside_fitting():
    x = torch.randn(2, 3, 4, 5)
    before = torch.get_rng_state()
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_activations_stay_in_channels_last_memory():
    order = {"memory_format": torch.channels_last}
    x = torch.randn(2, 8, 5, 7).contiguous(**order)
    stages = [PositionSignal(), CellNorm(8), Dropout(0.5), Activation("relu")]
    assert all(stage(x).is_contiguous(**order) for stage in stages)
    for dtype in (torch.float32, torch.bfloat16):
        signal = PositionSignal()
        signal(x.to(dtype))
        assert signal.signal.dtype == dtype
        assert signal.signal.permute(1, 2, 0).is_contiguous()
