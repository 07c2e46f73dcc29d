"""The transposed convolution with a cheaper gradient, compared with torch's own."""

import pytest
import torch
from torch import nn

from evade.layers import NoisyConv2d, draw
from evade.world_models.transposed import ConvTranspose2d, conv_transpose2d


def pair(**options):
    torch.manual_seed(0)
    ours = ConvTranspose2d(5, 3, 4, 2, 1, **options).double()
    theirs = nn.ConvTranspose2d(5, 3, 4, 2, 1, **options).double()
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


@pytest.mark.parametrize("shape", [(2, 5, 4, 6), (5, 4, 6)])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"output_padding": 1}])
def test_outputs_and_gradients_are_those_of_torch(shape, options):
    x = torch.randn(shape, dtype=torch.float64)
    results = []
    for layer in pair(**options):
        given = x.clone().requires_grad_()
        y = layer(given)
        (y.sin() * torch.arange(y.numel()).view_as(y)).sum().backward()
        results.append([y, given.grad, *(parameter.grad for parameter in layer.parameters())])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_gradients_are_right_by_finite_differences_twice_over():
    x = torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(2, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(1, dtype=torch.float64, requires_grad=True)

    def function(x, kernel, bias):
        return conv_transpose2d(x, kernel, bias, 2, 1).square()

    assert torch.autograd.gradcheck(function, (x, kernel, bias))
    assert torch.autograd.gradgradcheck(function, (x, kernel, bias))


def test_the_bias_has_its_own_type_of_gradient_under_autocast():
    layer = ConvTranspose2d(4, 3, 4, 2, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(torch.randn(2, 4, 5, 5))
    assert y.dtype == torch.bfloat16
    y.float().square().sum().backward()
    # A square's derivative, twice its root, is exact in bfloat16; the sum must not be rounded to it.
    torch.testing.assert_close(layer.bias.grad, 2 * y.detach().float().sum((0, 2, 3)))


def test_a_frozen_bias_gets_none():
    layer = ConvTranspose2d(4, 3, 4, 2, 1)
    layer.bias.requires_grad_(False)
    layer(torch.randn(2, 4, 5, 5)).sum().backward()
    assert layer.bias.grad is None
    assert layer.weight.grad is not None


@pytest.mark.parametrize("samples", [None, 2])
def test_a_noisy_layer_over_it_has_the_outputs_and_gradients_of_torch(samples):
    x = torch.randn(4, 5, 4, 6, dtype=torch.float64)
    results = []
    for source in pair():
        layer = NoisyConv2d(source, sigma_init=0.5)
        draw(layer, torch.Generator().manual_seed(0), samples)
        given = x.clone().requires_grad_()
        y = layer(given)
        (y.sin() * torch.arange(y.numel()).view_as(y)).sum().backward()
        assert source.weight.grad is None
        results.append([y, given.grad, source.bias.grad])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch.compile does so itself
def test_a_noisy_layer_over_it_compiles_whole_with_gradients():
    source = ConvTranspose2d(4, 3, 4, 2, 1)
    layer = NoisyConv2d(source, sigma_init=0.5)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.randn(4, 4, 5, 5)
    for seed in range(2):
        draw(layer, torch.Generator().manual_seed(seed))
        results = []
        for forward in (compiled, layer):
            source.zero_grad()
            given = x.clone().requires_grad_()
            y = forward(given)
            y.square().sum().backward()
            results.append([y, given.grad, source.bias.grad])
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other)


@torch.no_grad()
def test_several_draws_of_a_noisy_layer_over_it_compile_whole():
    # Without gradients, as dreams do: torch.compile has no vmap of autograd functions.
    layer = NoisyConv2d(ConvTranspose2d(4, 3, 4, 2, 1), sigma_init=0.5)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.randn(4, 4, 5, 5)
    for seed in range(2):
        draw(layer, torch.Generator().manual_seed(seed), samples=2)
        torch.testing.assert_close(compiled(x), layer(x))
