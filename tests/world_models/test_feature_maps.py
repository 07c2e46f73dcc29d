import itertools
from dataclasses import replace

import pytest
import torch

from evade.config import EVADE, GameSpec, WorldModelConfig
from evade.errors import UnknownFeatureMap
from evade.layers import noisy_layers, use_mean
from evade.world_models import build_world_model, capture, event_map_names

GAME = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
CONFIG = WorldModelConfig(num_frames=1, hidden_size=16, depth=2, event_layers=EVADE)


@pytest.fixture
def model():
    return build_world_model(CONFIG, GAME).eval()


@pytest.fixture
def inputs():
    return torch.randint(0, 2, (2, 1, 4, 10, 10), dtype=torch.uint8), torch.tensor([0, 3])


def test_maps_before_and_after_each_event_layer(model, inputs):
    names = event_map_names(model)
    assert len(names) == 2 * 7
    with capture(model, names) as maps:
        model.predict(*inputs)
    assert maps.keys() == set(names)
    for name, layer in noisy_layers(model).items():
        assert maps[f"{name}.before"].shape[1] == layer.channels
    chain = [f"reward_path.events.up0.{layer}" for layer in EVADE]
    for first, second in itertools.pairwise(chain):
        assert torch.equal(maps[f"{first}.after"], maps[f"{second}.before"])


def test_an_identity_layer_without_noise_shows_equal_maps(model, inputs):
    use_mean(model)
    name = "reward_path.events.up1.translation"
    with capture(model, [f"{name}.before", f"{name}.after"]) as maps:
        model.predict(*inputs)
    assert torch.equal(maps[f"{name}.before"], maps[f"{name}.after"])


def test_nothing_is_recorded_afterwards(model, inputs):
    with capture(model, ["middle.after"]) as maps:
        model.predict(*inputs)
    before = maps["middle.after"].clone()
    model.predict(1 - inputs[0], inputs[1])
    assert torch.equal(maps["middle.after"], before)


@pytest.mark.parametrize("name", ["midle.after", "middle", "middle.between"])
def test_an_unknown_name_suggests_near_ones(model, name):
    said = f"no feature map '{name}': near names are .*middle.after"
    with pytest.raises(UnknownFeatureMap, match=said), capture(model, [name]):
        pass


def test_simple_has_no_event_maps():
    assert event_map_names(build_world_model(replace(CONFIG, event_layers=()), GAME)) == []
