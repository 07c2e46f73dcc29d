import pytest
import torch

from evade.errors import TrainingDiverged
from evade.optimisers.update import global_norm, update


def test_a_long_gradient_is_scaled_down_and_a_short_one_is_not():
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    norm = update(optimiser, (parameter * torch.tensor([30.0, 40.0])).sum(), max_gradient_norm=5.0)
    assert norm.item() == pytest.approx(50.0)
    torch.testing.assert_close(parameter.detach(), torch.tensor([-3.0, -4.0]))
    update(optimiser, (parameter * torch.tensor([0.3, 0.4])).sum(), max_gradient_norm=5.0)
    torch.testing.assert_close(parameter.detach(), torch.tensor([-3.3, -4.4]))


def test_a_zero_gradient_is_no_problem():
    parameter = torch.nn.Parameter(torch.ones(2))
    update(torch.optim.SGD([parameter], lr=1.0), (parameter * 0).sum(), max_gradient_norm=1.0)
    assert torch.equal(parameter.detach(), torch.ones(2))


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_is_refused(poison):
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(
        TrainingDiverged,
        match="Invalid loss = .* with gradient norm (nan|inf): must be finite.*this update was refused",
    ):
        update(torch.optim.SGD([parameter], lr=1.0), (parameter * poison).sum(), max_gradient_norm=1.0)
    assert torch.equal(parameter.detach(), torch.ones(2))


def test_the_norm_of_a_large_kernel_is_exact_to_a_millionth():
    torch.manual_seed(0)
    tensors = [torch.randn(128, 17280), torch.randn(32, 12, 5, 5), torch.randn(128), torch.tensor(3.0)]
    exact = torch.cat([tensor.double().flatten() for tensor in tensors]).norm()
    assert abs(global_norm(tensors).double() / exact - 1) < 1e-6
