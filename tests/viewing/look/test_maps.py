"""Maps and sigmas."""

import pytest
import torch
from torch import nn

from evade.errors import LookError
from evade.layers import Draw, NoisyConv2d, hold, noisy_layers, use_mean
from evade.viewing.look.draws import Posterior
from evade.viewing.look.maps import list_layers, sigma_heat

LAYER = "local_heads.events.local1.interaction"


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


@pytest.mark.parametrize("name", ["event_prior", "local_heads", "../etc/passwd"])
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


def test_a_wide_kernel_keeps_its_rows_together():
    layer = NoisyConv2d(nn.Conv2d(5, 4, 3, padding=1))
    with torch.no_grad():
        layer.sigma.copy_(torch.rand(4, 5, 3, 3))
    heat = sigma_heat(Posterior(nn.Sequential(layer), Draw({})), "0")
    assert heat.shape == (4 * 3, 5 * 3)
    assert heat[3 * 3 + 1, 2 * 3] == layer.sigma[3, 2, 1, 0]
