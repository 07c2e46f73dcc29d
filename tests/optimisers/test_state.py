"""Optimisers saved as tensors and JSON values, and restored."""

import json

import pytest
import torch
from torch import nn

from evade.errors import CheckpointMismatch
from evade.interfaces import Savable
from evade.optimisers import Adafactor, SavedOptimiser, TensorFlowAdam, warmup_rsqrt

OPTIMISERS = {
    "adafactor": lambda parameters: Adafactor(parameters, warmup_rsqrt(0.5, 3)),
    "adam": lambda parameters: TensorFlowAdam(parameters, 0.01),
}
optimisers = pytest.mark.parametrize("build", OPTIMISERS.values(), ids=OPTIMISERS)


def parameters():
    generator = torch.Generator().manual_seed(0)
    kernel = torch.randn(4, 3, 2, 2, generator=generator).contiguous(memory_format=torch.channels_last)
    return [nn.Parameter(kernel), nn.Parameter(torch.randn(5, generator=generator))]


def make_updates(optimiser, trained, seeds):
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        for parameter in trained:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimiser.step()


@optimisers
def test_a_restored_optimiser_continues_exactly(build):
    straight, broken = parameters(), parameters()
    make_updates(build(straight), straight, range(6))

    saved = SavedOptimiser(build(broken))
    make_updates(saved.optimiser, broken, range(3))
    tensors = {name: tensor.contiguous().clone() for name, tensor in saved.saved_tensors().items()}
    values = json.loads(json.dumps(saved.saved_values()))

    restored = SavedOptimiser(build(broken))
    restored.restore(tensors, values)
    assert restored.saved_values() == saved.saved_values()
    assert restored.saved_tensors().keys() == tensors.keys()
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in restored.saved_tensors().items())
    make_updates(restored.optimiser, broken, range(3, 6))
    for one, other in zip(straight, broken, strict=True):
        assert torch.equal(one, other)


@optimisers
def test_without_restoring_it_would_not_continue(build):
    straight, broken = parameters(), parameters()
    make_updates(build(straight), straight, range(6))
    make_updates(build(broken), broken, range(3))
    make_updates(build(broken), broken, range(3, 6))
    assert not torch.equal(straight[0], broken[0])


@optimisers
def test_an_optimiser_without_updates_can_be_saved(build):
    trained = parameters()
    saved = SavedOptimiser(build(trained))
    assert isinstance(saved, Savable)
    assert saved.saved_tensors() == {}
    other = SavedOptimiser(build(trained))
    make_updates(other.optimiser, trained, range(2))
    other.restore({}, json.loads(json.dumps(saved.saved_values())))
    assert other.saved_tensors() == {}
    assert other.saved_values() == saved.saved_values()


def test_moments_keep_their_parameters_memory_format():
    trained = parameters()
    saved = SavedOptimiser(TensorFlowAdam(trained, 0.01))
    make_updates(saved.optimiser, trained, range(1))
    tensors = {
        name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in saved.saved_tensors().items()
    }
    saved.restore(tensors, saved.saved_values())
    moment = saved.optimiser.state[trained[0]]["exp_avg"]
    assert moment.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(moment, tensors["0.exp_avg"])


def saved_after_updates(build):
    trained = parameters()
    saved = SavedOptimiser(build(trained))
    make_updates(saved.optimiser, trained, range(2))
    return {name: tensor.clone() for name, tensor in saved.saved_tensors().items()}, saved.saved_values()


TENSOR_CHANGES = {
    "another shape": lambda name, tensor: {name: tensor.flatten()[:1].clone()},
    "another type": lambda name, tensor: {name: tensor.double()},
    "missing": lambda name, tensor: {},
    "another name": lambda name, tensor: {f"{name}x": tensor},
    "another parameter": lambda name, tensor: {f"7{name}": tensor},
}


@optimisers
@pytest.mark.parametrize("change", TENSOR_CHANGES.values(), ids=TENSOR_CHANGES)
def test_moments_that_the_optimiser_does_not_make_are_refused_and_nothing_changes(build, change):
    tensors, values = saved_after_updates(build)
    changed = next(name for name in tensors if name.startswith("0.") and tensors[name].dim() > 1)
    other = SavedOptimiser(build(parameters()))
    forged = {name: tensor for name, tensor in tensors.items() if name != changed}
    with pytest.raises(CheckpointMismatch, match=r"its optimiser (has|lacks) '?7?0\."):
        other.restore(forged | change(changed, tensors[changed]), values)
    assert other.saved_tensors() == {}
    with pytest.raises(CheckpointMismatch, match="no moments after updates"):
        other.restore({}, values)


@optimisers
@pytest.mark.parametrize("value", ["x", -1, None, [1], float("inf"), True])
def test_values_that_the_optimiser_does_not_have_are_refused(build, value):
    tensors, values = saved_after_updates(build)
    other = SavedOptimiser(build(parameters()))
    for forged in ([values[0] | {"num_updates": value}], [values[0] | {"extra": 1}], [{}], [], None, [value]):
        with pytest.raises(CheckpointMismatch, match="num_updates = |has the values|in place of"):
            other.restore(tensors, forged)
