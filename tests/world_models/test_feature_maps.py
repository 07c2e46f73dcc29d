import itertools

import pytest
import torch

from evade.errors import UnknownFeatureMap
from evade.game_spec import GameSpec
from evade.layers import draw, noisy_layers, use_mean
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_world_model
from evade.world_models.feature_maps import capture, event_map_names
from evade.world_models.settings import DeterministicConfig, RewardPathConfig

GAME = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
CONFIG = DeterministicConfig(hidden_size=16, depth=2, reward=RewardPathConfig(event_layers=EVADE))


@pytest.fixture
def model():
    return build_world_model(CONFIG, GAME, num_frames=1).eval()


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
def test_an_unknown_name_suggests_similar_ones(model, name):
    said = f"Unknown feature map '{name}': did you mean .*middle.after"
    with pytest.raises(UnknownFeatureMap, match=said), capture(model, [name]):
        pass


def test_feature_maps_are_the_captured_maps_of_the_event_layers(model, inputs):
    draw(model, torch.Generator().manual_seed(0))
    with capture(model, event_map_names(model)) as captured:
        model.predict(*inputs)
    maps = model.feature_maps(*inputs)
    assert list(maps) == list(captured)
    assert len(maps) == 2 * 7
    for name, activation in maps.items():
        assert torch.equal(activation, captured[name])
        assert activation.shape[0] == 2
        assert not activation.requires_grad
    before, after = (maps[f"reward_path.events.up1.weighting.{side}"] for side in ("before", "after"))
    torch.testing.assert_close(after, model.get_submodule("reward_path.events.up1.weighting")(before))


def test_simple_has_no_event_maps(inputs):
    simple = build_world_model(CONFIG.with_event_layers(()), GAME, num_frames=1).eval()
    assert event_map_names(simple) == []
    assert simple.feature_maps(*inputs) == {}
