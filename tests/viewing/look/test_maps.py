"""Maps and sigmas."""

import pytest
import torch

from evade.errors import LookError
from evade.layers import hold, noisy_layers, use_mean
from evade.viewing.look.maps import list_layers, sigma_heat

LAYER = "reward_path.events.up1.interaction"


def test_maps_are_the_models_own_and_the_largest_change_comes_first(session, source):
    model, inputs = source.run.world_model, (session.observation().unsqueeze(0), torch.tensor([2]))
    maps = session.maps(LAYER, "5", 2)
    with use_mean(model):
        mean = model.feature_maps(*inputs)
    with hold(model, source.posterior.find("5")):
        drawn = model.feature_maps(*inputs)
    channels = list(maps.channels)
    assert torch.equal(maps.before, mean[f"{LAYER}.before"][0, channels])
    assert torch.equal(maps.mean, mean[f"{LAYER}.after"][0, channels])
    assert torch.equal(maps.draw, drawn[f"{LAYER}.after"][0, channels])
    changes = (drawn[f"{LAYER}.after"] - mean[f"{LAYER}.after"])[0].square().mean((1, 2)).sqrt()
    assert maps.changes == tuple(changes.sort(descending=True).values[: len(channels)].tolist())
    assert maps.num_channels == len(changes) == 16
    assert {layer.mode for layer in noisy_layers(model).values()} == {"mean"}


def test_under_the_mean_itself_nothing_changes(session):
    maps = session.maps(LAYER, "mean", 0)
    assert set(maps.changes) == {0.0}
    assert torch.equal(maps.mean, maps.draw)


@pytest.mark.parametrize("name", ["event_prior", "reward_path", "../etc/passwd"])
def test_a_layer_without_maps_is_refused(session, name):
    with pytest.raises(LookError, match="has no maps"):
        session.maps(name, "1", 0)


def test_every_sigma_is_in_the_heat_map_once(source):
    for name, layer in noisy_layers(source.run.world_model).items():
        heat = sigma_heat(source.posterior, name)
        assert heat.dim() == 2
        shown = heat[~heat.isnan()].sort().values
        assert torch.equal(shown, layer.sigma.detach().abs().flatten().sort().values)
    assert list_layers(source.posterior) == tuple(noisy_layers(source.run.world_model))
    with pytest.raises(LookError, match="Unknown layer 'nothing'"):
        sigma_heat(source.posterior, "nothing")


def test_a_wide_kernel_keeps_its_rows_together(source):
    sigma = dict(noisy_layers(source.run.world_model))["reward_path.last_convolution"].sigma.abs()
    heat = sigma_heat(source.posterior, "reward_path.last_convolution")
    size = sigma.shape[-1]
    assert heat[size * 3 + 1, size * 2] == sigma[3, 2, 1, 0]
