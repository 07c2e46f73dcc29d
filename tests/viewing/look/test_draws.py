"""Named draws and what they expect."""

import pytest
import torch

from evade.errors import LookError
from evade.layers import draw, noisy_layers, use_mean
from evade.training.posterior import disagreement, expected_rewards, rewards_under_draws
from evade.viewing.look import draws as draws_module
from evade.viewing.look.draws import Strip, StripBuilder


def complete(builder, count):
    while True:
        strip = builder.extend(count)
        if len(strip.draws) == strip.wanted:
            return strip


def test_a_draw_is_named_by_the_seed_of_its_generator(source):
    model = source.run.world_model
    with use_mean(model):
        expected = draw(model, torch.Generator().manual_seed(17))
    assert source.posterior.find("17") == expected
    assert source.posterior.find("own") == source.run.draw
    assert {layer.mode for layer in noisy_layers(model).values()} == {"mean"}


@pytest.mark.parametrize("name", ["-1", "1.5", "", "99999999999", "²", "nobody"])
def test_other_names_are_refused(source, name):
    with pytest.raises(LookError, match="give a number from 0 to 2147483647"):
        source.posterior.find(name)


@pytest.mark.parametrize("cells", [300, 10_000])
def test_many_draws_at_once_agree_with_one_at_a_time(source, session, monkeypatch, cells):
    monkeypatch.setattr(draws_module, "CELLS_AT_ONCE", cells)
    observation = session.observation([(1, 0, 3)])
    strip = complete(StripBuilder(source.posterior, observation, 3), 8)
    inputs = observation.expand(3, *observation.shape), torch.arange(3)
    model = source.run.world_model
    one_by_one = rewards_under_draws(model, [source.posterior.find(str(number)) for number in range(8)], *inputs)
    assert torch.allclose(strip.draws, one_by_one, atol=1e-6)
    with use_mean(model):
        mean = expected_rewards(model, *inputs)
    assert torch.allclose(strip.mean, mean, atol=1e-6)
    assert strip.beyond_scale == pytest.approx(disagreement(one_by_one, mean).item(), abs=1e-6)


def test_disagreement_by_one_common_scale_alone_is_told_apart():
    mean = torch.tensor([1.0, 2.0, 3.0])
    strip = Strip(mean, torch.tensor([[0.5], [1.0], [1.5]]) * mean, wanted=3)
    assert strip.total == pytest.approx((14 / 3 * 0.5 / 3) ** 0.5)
    assert strip.beyond_scale == pytest.approx(0, abs=1e-6)
    assert torch.allclose(strip.spread, 0.5 * mean)
    other = Strip(mean, torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), wanted=2)
    assert 0 < other.beyond_scale <= other.total


def test_a_ball_where_none_has_been_makes_draws_disagree(session):
    """The finding of docs/do/look_inside.md."""
    session.begin(0)
    ordinary = session.rewards(16)
    edited = session.rewards(16, [(1, 0, 3)])
    assert ordinary.total < 0.005
    assert edited.total > 0.1
    assert session.rewards(16).draws.equal(ordinary.draws)
