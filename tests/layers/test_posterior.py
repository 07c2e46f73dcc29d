import copy
import os
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from evade.layers import (
    Draw,
    LayerError,
    NoisyConv2d,
    NoisyEventInteraction,
    NoisyEventTranslation,
    NoisyEventWeighting,
    current_draw,
    draw,
    hold,
    kl_divergence,
    mean_draw,
    mean_sigma,
    noisy_layers,
    resample,
    use_mean,
)


def build():
    torch.manual_seed(0)
    last = nn.Conv2d(4, 4, 3, padding=1)
    return nn.Sequential(
        nn.Conv2d(3, 4, 1),
        nn.Sequential(NoisyEventTranslation(4), NoisyEventWeighting(4)),
        NoisyEventInteraction(4),
        last,
        NoisyConv2d(last),
    )


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def network():
    return build()


@pytest.fixture
def x():
    return torch.randn(2, 3, 5, 5, generator=generator(9))


def test_holding_the_mean_draw_gives_what_the_mean_gives(network, x):
    draw(network, generator(1))
    under_a_draw = network(x)
    with use_mean(network):
        mean = network(x)
    hold(network, mean_draw(network))
    assert torch.equal(network(x), mean)
    assert not torch.equal(under_a_draw, mean)


def test_a_draw_holds_every_layer_of_the_tree(network, x):
    value = draw(network, generator(1))
    assert list(value) == ["1.0", "1.1", "2", "4"]
    assert {layer.mode for layer in noisy_layers(network).values()} == {"hold"}
    assert torch.equal(network(x), network(x))


@given(seed=st.integers(0, 2**32 - 1), before=st.lists(st.sampled_from(["mean", "resample", "draw", "forward"])))
@settings(max_examples=40, deadline=None)
def test_the_same_generator_gives_the_same_draw_regardless_of_the_layers_state(seed, before):
    network = build()
    x = torch.randn(2, 3, 5, 5)
    expected = draw(network, generator(seed))
    output = network(x)
    for action in before:
        {
            "mean": lambda: use_mean(network),
            "resample": lambda: resample(network),
            "draw": lambda: draw(network),
            "forward": lambda: network(x),
        }[action]()
    assert draw(network, generator(seed)) == expected
    assert torch.equal(network(x), output)


def test_the_draw_does_not_touch_the_global_generator(network):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    draw(network, generator(1))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_network_of_another_dtype_gets_the_same_draw(network):
    double = copy.deepcopy(network).double()
    assert draw(network, generator(1)) == draw(double, generator(1))


def test_different_generators_give_different_draws(network, x):
    first, y = draw(network, generator(1)), network(x)
    second, z = draw(network, generator(2)), network(x)
    assert first != second
    assert not torch.equal(y, z)


def test_a_draw_can_be_compared_and_held_again(network, x):
    first = draw(network, generator(1))
    y = network(x)
    draw(network, generator(2))
    assert current_draw(network) != first
    hold(network, first)
    assert current_draw(network) == first
    assert torch.equal(network(x), y)
    with pytest.raises(TypeError):
        hash(first)
    assert first != "a draw"
    assert repr(first) == "Draw(1.0 (4, 5), 1.1 (4,), 2 (4, 4, 1, 1), 4 (4, 4, 3, 3))"


def test_a_draw_can_be_saved_and_loaded(network, x, tmp_path):
    value = draw(network, generator(1), samples=2)
    y = network(x)
    value.save(tmp_path / "draw.safetensors")
    loaded = Draw.load(tmp_path / "draw.safetensors")
    assert loaded == value
    use_mean(network)
    hold(network, loaded)
    assert torch.equal(network(x), y)


@pytest.mark.parametrize("content", [b"", b"not a draw", b"\xff" * 64])
def test_an_invalid_draw_file_is_named(content, tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(LayerError, match="Invalid draw file .*broken.safetensors .*: must be written by Draw.save"):
        Draw.load(path)
    with pytest.raises(LayerError, match="Invalid draw file .*missing.safetensors .*: must be written by Draw.save"):
        Draw.load(tmp_path / "missing.safetensors")


def test_a_pipe_a_folder_and_a_device_are_no_draw_files_and_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(LayerError, match=f"Invalid draw file {path} .*: must be written by Draw.save"):
            Draw.load(path)


def test_a_draw_file_may_not_be_larger_than_allowed(network, tmp_path):
    path = tmp_path / "draw.safetensors"
    value = draw(network, generator(1))
    value.save(path)
    size = path.stat().st_size
    assert Draw.load(path, largest=size) == value
    with pytest.raises(LayerError, match=f"it has {size:,} bytes, and at most {size - 1:,} are read"):
        Draw.load(path, largest=size - 1)
    os.truncate(path, 3 << 30)  # sparse: three gigabytes that take no room
    with pytest.raises(LayerError, match="it has 3,221,225,472 bytes, and at most 268,435,456 are read.*largest="):
        Draw.load(path)


def test_a_draw_file_may_be_reached_by_a_link(network, tmp_path):
    value = draw(network, generator(1))
    value.save(tmp_path / "draw.safetensors")
    (tmp_path / "link").symlink_to("draw.safetensors")
    assert Draw.load(tmp_path / "link") == value


def test_a_with_block_restores_mode_and_draw(network, x):
    draw(network, generator(1))
    held = network(x)
    with use_mean(network):
        mean = network(x)
        with resample(network):
            assert not torch.equal(network(x), network(x))
        assert torch.equal(network(x), mean)
    assert torch.equal(network(x), held)
    with hold(network, draw(copy.deepcopy(network), generator(2))):
        assert not torch.equal(network(x), held)
    assert torch.equal(network(x), held)


def test_a_with_block_restores_the_held_kernel_even_after_training(network, x):
    draw(network, generator(1))
    held = network(x)
    with resample(network), torch.no_grad():
        for layer in noisy_layers(network).values():
            layer.sigma.mul_(3)
    assert torch.equal(network(x), held)


def test_a_with_block_restores_after_an_error(network):
    use_mean(network)
    with pytest.raises(RuntimeError, match="on purpose"), resample(network):
        raise RuntimeError("on purpose")
    assert {layer.mode for layer in noisy_layers(network).values()} == {"mean"}


def test_a_with_block_restores_several_draws(network, x):
    draw(network, generator(1), samples=2)
    held = network(x)
    with hold(network, draw(copy.deepcopy(network), generator(2))):
        network(x)
    assert torch.equal(network(x), held)


def test_holding_without_a_draw_is_an_error(network):
    with pytest.raises(LayerError, match="No current draw of 1.0, 1.1, 2, 4: call draw"):
        hold(network)


def test_a_draw_for_another_network_is_refused(network):
    other = nn.Sequential(NoisyEventWeighting(4))
    with pytest.raises(LayerError, match="Invalid draw, made for another network: missing .*'1.0'.*, unexpected .*'0'"):
        hold(network, draw(other))
    with pytest.raises(LayerError, match=r"Invalid draw of shape \(3,\): must have the weights' shape \(4,\)"):
        hold(other, Draw({"0": torch.zeros(3)}))


def test_a_refused_draw_leaves_the_mode_alone():
    network = nn.Sequential(NoisyEventWeighting(4))
    use_mean(network)
    with pytest.raises(LayerError):
        draw(network, samples=0)
    with pytest.raises(LayerError):
        hold(network, Draw({"0": torch.zeros(3)}))
    assert network[0].mode == "mean"


def test_a_network_without_noise_has_an_empty_draw():
    plain = nn.Conv2d(3, 3, 1)
    assert len(draw(plain)) == 0
    assert hold(plain) is not None
    assert kl_divergence(plain) == 0


def test_a_draw_made_in_inference_mode_can_be_replaced_outside(network, x):
    with torch.inference_mode():
        draw(network, generator(1))
    held = network(x)
    draw(network, generator(2))
    draw(network, generator(1))
    assert torch.equal(network(x), held)


def test_mean_sigma_names_each_layer(network):
    with torch.no_grad():
        network[2].sigma.fill_(-0.25)
    assert mean_sigma(network) == pytest.approx({"1.0": 0.1, "1.1": 0.1, "2": 0.25, "4": 0.1})


def test_kl_is_near_the_divergence_by_numerical_integration():
    # KL(N(theta, sigma^2 theta^2) || log-uniform) = -log(sigma) + E[log|1 + sigma eps|] + const; the constant is fixed
    # by the divergence vanishing as sigma grows.
    def exact(sigma):
        eps = torch.linspace(-12, 12, 2_000_001, dtype=torch.float64)
        density = torch.exp(-(eps**2) / 2) / (2 * torch.pi) ** 0.5
        expected = (density * torch.log((1 + sigma * eps).abs().clamp_min(1e-300))).sum() * (eps[1] - eps[0])
        return (-torch.log(torch.tensor(sigma)) + expected).item()

    def approximate(sigma):
        layer = NoisyEventWeighting(5, sigma_init=sigma, dtype=torch.float64)
        return kl_divergence(layer).item() / 5

    for sigma in (0.05, 0.1, 0.5, 1.0, 2.0):
        assert approximate(sigma) - approximate(50.0) == pytest.approx(exact(sigma) - exact(50.0), abs=0.02)


def test_kl_pushes_sigma_up():
    layer = NoisyEventWeighting(3)
    kl_divergence(layer).backward()
    assert (layer.sigma.grad < 0).all()
    zero = NoisyEventWeighting(3, sigma_init=0.0)
    assert torch.isfinite(kl_divergence(zero))


def test_a_hold_that_fails_half_way_changes_no_layer(network):
    good = draw(network)
    use_mean(network)
    layers = noisy_layers(network)
    name = list(layers)[-1]
    bad = Draw({**good, name: torch.full_like(good[name], float("nan"))})
    with pytest.raises(LayerError, match="must be finite"):
        hold(network, bad)
    assert {layer.mode for layer in layers.values()} == {"mean"}
    assert current_draw(network) == good


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bool])
def test_whole_numbers_are_refused_because_weights_would_be_rounded(dtype):
    with pytest.raises(LayerError, match=r"dtype torch.*must be floating point"):
        NoisyEventWeighting(3)(torch.ones(1, 3, 4, 4, dtype=dtype))
