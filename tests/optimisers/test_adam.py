"""Adam with decoupled weight decay."""

import torch
from torch import nn

from evade.optimisers import TensorFlowAdam, optimiser_tensors, optimiser_values, restore_optimiser


def build(decay):
    parameters = [nn.Parameter(torch.full((3,), 2.0)) for _ in range(2)]
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "decay": decay}]
    return parameters, TensorFlowAdam(groups, 0.0, lambda update: 0.1 / (update + 1))


def step(parameters, optimiser):
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()


def test_only_the_group_with_decay_shrinks_by_learning_rate_times_decay():
    parameters, optimiser = build(decay=0.5)
    step(parameters, optimiser)
    step(parameters, optimiser)
    torch.testing.assert_close(parameters[0].data, torch.full((3,), 2.0))
    torch.testing.assert_close(parameters[1].data, torch.full((3,), 2.0 * (1 - 0.1 * 0.5) * (1 - 0.05 * 0.5)))


def test_decay_adds_to_adams_own_step():
    (_, plain), without = build(decay=0.0)
    (_, decayed), with_decay = build(decay=0.5)
    for parameter, optimiser in ((plain, without), (decayed, with_decay)):
        parameter.grad = torch.tensor([1.0, -2.0, 0.0])
        optimiser.step()
    torch.testing.assert_close(decayed.data, plain.data * (1 - 0.1 * 0.5))


def test_restoring_changes_no_parameter_and_goes_on_alike():
    parameters, optimiser = build(decay=0.5)
    step(parameters, optimiser)
    others, restored = build(decay=0.5)
    with torch.no_grad():
        for one, other in zip(parameters, others, strict=True):
            other.copy_(one)
    restore_optimiser(restored, optimiser_tensors(optimiser), optimiser_values(optimiser))
    assert all(torch.equal(one, other) for one, other in zip(parameters, others, strict=True))
    step(parameters, optimiser)
    step(others, restored)
    assert all(torch.equal(one, other) for one, other in zip(parameters, others, strict=True))
