"""The transposed convolution with a cheaper gradient, held against torch's own."""

import pytest
import torch
from torch import nn

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
    told = []
    for layer in pair(**options):
        given = x.clone().requires_grad_()
        y = layer(given)
        (y.sin() * torch.arange(y.numel()).view_as(y)).sum().backward()
        told.append([y, given.grad, *(parameter.grad for parameter in layer.parameters())])
    for one, other in zip(*told, strict=True):
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
