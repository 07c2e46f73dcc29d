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


def copy_tensors(state):
    return {part: {name: tensor.clone() for name, tensor in found.items()} for part, found in state.tensors().items()}


@pytest.mark.parametrize("part", ["policy", "world_model", "generators"])
@pytest.mark.parametrize("change", ["shape", "type", "missing", "unknown"])
def test_a_tensor_that_does_not_fit_is_named(make_state, part, change):
    state = make_state()
    tensors = copy_tensors(state)
    name, tensor = next((name, tensor) for name, tensor in tensors[part].items() if tensor.numel() > 1)
    if change == "shape":
        tensors[part][name] = tensor.flatten()[:1]
    elif change == "type":
        tensors[part][name] = tensor.double()
    elif change == "missing":
        del tensors[part][name]
    else:
        name = "unheard"
        tensors[part][name] = tensor
    with pytest.raises(RunError, match=rf"another version of evade made it.*{name}"):
        make_state().restore(tensors, state.values())


@pytest.mark.parametrize(
    "position",
    [
        *({"iteration": 0}, {"iteration": "1"}, {"iteration": 1.5}, {"phase": "sleep"}, {"progress": -1}),
        *({"progress": None}, {"scored_after": True}, {"more": 1}),
    ],
    ids=str,
)
def test_a_position_that_cannot_be_is_refused(make_state, position):
    state = make_state()
    values = state.values()
    with pytest.raises(RunError, match="position"):
        make_state().restore(copy_tensors(state), values | {"position": values["position"] | position})


def test_a_draw_of_another_network_is_refused(make_state):
    state = make_state()
    state.draw.value = draw(state.world_model, torch.Generator().manual_seed(5))
    tensors = copy_tensors(state)
    name = next(iter(tensors["draw"]))
    tensors["draw"][name] = tensors["draw"][name].flatten()
    with pytest.raises(RunError, match=f"draw: {name} is float32"):
        make_state().restore(tensors, state.values())


@pytest.mark.parametrize("values", [7, None, [1, 2], "parts"])
def test_parts_that_are_no_values_by_name_are_refused(make_state, values):
    state = make_state()
    with pytest.raises(RunError, match=r"another version of evade made it.*its parts are .* instead of values by name"):
        state.restore(state.tensors(), values)
