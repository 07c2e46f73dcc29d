"""The train state as a set of parts that can be saved."""

from dataclasses import fields

import pytest
import torch

from evade.config.presets import build_config
from evade.envs import spec
from evade.errors import RunError
from evade.interfaces import Savable
from evade.layers import draw
from evade.runs.folder import RunFolder
from evade.training.assemble import assemble
from evade.training.state import Position, TrainState


@pytest.fixture
def make_state(tmp_path):
    config = build_config("smoke", "evade")
    folder = RunFolder(tmp_path)
    folder.create()

    def make():
        return assemble(config, spec(config.game, config.env), folder)

    return make


def test_every_field_is_a_part_that_is_saved(make_state):
    state = make_state()
    assert list(state.parts()) == [field.name for field in fields(TrainState)]
    assert all(isinstance(part, Savable) for part in state.parts().values())


def test_a_new_state_becomes_the_saved_one(make_state):
    state = make_state()
    state.draw.value = draw(state.world_model, torch.Generator().manual_seed(5))
    state.position = Position(iteration=3, phase="improve", progress=2, scored_after=1)
    state.generators.begin("improve", 3)
    torch.rand(3, generator=state.generators.device)
    with torch.no_grad():
        next(state.policy.parameters()).add_(1.0)
    tensors = {
        part: {name: tensor.clone() for name, tensor in found.items()} for part, found in state.tensors().items()
    }
    values = state.values()
    expected = [
        torch.rand(4, generator=state.generators.device),
        torch.rand(4, generator=state.generators.host),
        torch.rand(4),
    ]

    other = make_state()
    other.restore(tensors, values)
    assert other.position == state.position
    assert other.draw.value == state.draw.value
    assert torch.equal(next(other.policy.parameters()), next(state.policy.parameters()))
    found = [
        torch.rand(4, generator=other.generators.device),
        torch.rand(4, generator=other.generators.host),
        torch.rand(4),
    ]
    assert all(torch.equal(one, two) for one, two in zip(expected, found, strict=True))


@pytest.mark.parametrize("change", ["an unknown part", "a missing part", "an earlier layout"])
def test_a_checkpoint_of_other_parts_is_refused_by_name(make_state, change):
    state = make_state()
    tensors, values = state.tensors(), state.values()
    if change == "an unknown part":
        tensors = tensors | {"critic": {"weight": torch.ones(1)}}
    elif change == "a missing part":
        del values["fitter"]
    else:
        # The layout before parts had names of their own: optimisers beside networks, all numbers in one place.
        tensors = {"world_model": {}, "world_model_optimiser": {}, "policy": {}, "policy_optimiser": {}, "draw": {}}
        values = {}
    with pytest.raises(RunError, match="another version of evade made it"):
        state.restore(tensors, values)


def test_phases_follow_each_other_and_then_the_next_iteration_begins():
    position, seen = Position(), []
    for _ in range(6):
        seen.append((position.iteration, position.phase))
        position.progress = 9
        position.finish_phase()
        assert position.progress == 0
    assert seen == [*((1, name) for name in ("collect", "fit", "draw", "improve", "evaluate")), (2, "collect")]
