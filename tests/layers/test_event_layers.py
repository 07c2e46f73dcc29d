"""Properties of all noisy layers."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from evade.layers import (
    LayerError,
    NoisyConv2d,
    NoisyEventInteraction,
    NoisyEventTranslation,
    NoisyEventWeighting,
    draw,
    hold,
    resample,
    use_mean,
)

KINDS = {
    "interaction": lambda channels, size=1, **options: NoisyEventInteraction(channels, 2 * (size - 1) + 1, **options),
    "weighting": lambda channels, size=1, **options: NoisyEventWeighting(channels, **options),
    "translation": lambda channels, size=1, **options: NoisyEventTranslation(channels, size, **options),
}
kinds = pytest.mark.parametrize("kind", KINDS)
any_kind = st.sampled_from(list(KINDS))
seeds = st.integers(0, 2**32 - 1)


def generator(seed):
    return torch.Generator().manual_seed(seed)


@given(
    kind=any_kind,
    channels=st.integers(1, 9),
    size=st.integers(1, 3),
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    mode=st.sampled_from(["mean", "resample", "hold"]),
    init=st.sampled_from(["identity", "random"]),
)
@settings(max_examples=150, deadline=None)
def test_shape_and_dtype_stay(kind, channels, size, height, width, dtype, mode, init):
    layer = KINDS[kind](channels, size, init=init, dtype=dtype)
    {"mean": use_mean, "resample": resample, "hold": draw}[mode](layer)
    x = torch.randn(2, channels, height, width, dtype=dtype)
    y = layer(x)
    assert y.shape == x.shape
    assert y.dtype == dtype
    assert torch.isfinite(y).all()
    assert layer(x[0]).shape == x[0].shape


@given(kind=any_kind, channels=st.integers(1, 6), size=st.integers(1, 3), seed=seeds)
@settings(max_examples=80, deadline=None)
def test_every_layer_is_the_plain_convolution_with_its_dense_weight(kind, channels, size, seed):
    torch.manual_seed(seed)
    layer = KINDS[kind](channels, size, init="random", sigma_init=0.5, dtype=torch.float64)
    x = torch.randn(2, channels, 6, 5, dtype=torch.float64)
    for switch in (use_mean, draw):
        switch(layer)
        weight = layer.dense_weight()
        assert weight.shape[:2] == (channels, channels)
        torch.testing.assert_close(layer(x), nn.functional.conv2d(x, weight, padding=weight.shape[2] // 2))


@given(kinds=st.lists(any_kind, min_size=1, max_size=4), place=st.integers(0, 3), size=st.integers(1, 2), seed=seeds)
@settings(max_examples=60, deadline=None)
def test_theorem_1_identity_layers_without_noise_change_nothing_anywhere(kinds, place, size, seed):
    torch.manual_seed(seed)
    network = [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.Tanh()]
    x = torch.randn(2, 3, 8, 8)
    expected = nn.Sequential(*network)(x)
    channels = 3 if place == 0 else 6
    added = [KINDS[kind](channels, size, sigma_init=0.0) for kind in kinds]
    extended = nn.Sequential(*network[:place], *added, *network[place:])
    for switch in (resample, use_mean, draw):
        switch(extended)
        assert torch.equal(extended(x), expected)


@kinds
def test_draws_have_the_mean_and_variance_of_equation_1(kind):
    layer = KINDS[kind](3, 1, init="random", sigma_init=0.3, dtype=torch.float64)
    with torch.no_grad():
        layer.sigma.uniform_(0.1, 0.6)
    use_mean(layer)
    theta = layer.dense_weight().detach()
    sigma_layer = copy.deepcopy(layer)
    with torch.no_grad():
        sigma_layer.weight.copy_(layer.sigma * layer.weight)
    deviation = sigma_layer.dense_weight().detach()
    count = 10_000
    draw(layer, generator(5), samples=count)
    draws = layer.dense_weight()
    assert draws.shape == (count, *theta.shape)
    # Five standard errors of a mean and, for a Gaussian, of a variance.
    assert ((draws.mean(0) - theta).abs() <= 5 * deviation.abs() / count**0.5 + 1e-12).all()
    assert ((draws.var(0) - deviation**2).abs() <= 5 * deviation**2 * (2 / count) ** 0.5 + 1e-12).all()
    # Entries the paper sets to zero stay zero in every draw.
    assert (draws[:, theta == 0] == 0).all()


@kinds
def test_resampling_has_the_same_distribution_as_drawing(kind):
    torch.manual_seed(3)
    layer = KINDS[kind](1, 1, init="random", sigma_init=0.4, dtype=torch.float64)
    x = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    outputs = torch.stack([layer(x).detach().flatten()[0] for _ in range(4000)])
    centre = layer.dense_weight().detach()
    theta = centre[0, 0, centre.shape[2] // 2, centre.shape[3] // 2]
    deviation = 0.4 * theta.abs()
    assert abs(outputs.mean() - theta) < 5 * deviation / 4000**0.5
    assert abs(outputs.std() / deviation - 1) < 5 / (2 * 4000) ** 0.5


@kinds
def test_gradients_reach_theta_and_sigma(kind):
    torch.manual_seed(0)
    layer = KINDS[kind](4, 1, init="random")
    layer(torch.randn(2, 4, 5, 5)).square().sum().backward()
    assert (layer.weight.grad != 0).all()
    assert (layer.sigma.grad != 0).all()


@kinds
def test_the_gradient_of_sigma_is_that_of_equation_1(kind):
    layer = KINDS[kind](2, 1, init="random", dtype=torch.float64)
    x = torch.randn(1, 2, 4, 4, dtype=torch.float64)

    def output(weight, sigma):
        torch.manual_seed(7)
        return torch.func.functional_call(layer, {"weight": weight, "sigma": sigma}, (x,))

    assert torch.autograd.gradcheck(output, (layer.weight, layer.sigma))


@kinds
def test_a_held_kernel_is_a_constant(kind):
    layer = KINDS[kind](4, 1)
    x = torch.randn(2, 4, 5, 5, requires_grad=True)
    draw(layer, generator(0))
    y = layer(x)
    assert torch.equal(y, layer(x))
    y.sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None
    with torch.no_grad():
        layer.weight.mul_(2)
    assert torch.equal(layer(x), y)
    hold(layer)
    torch.testing.assert_close(layer(x), 2 * y)


@kinds
def test_the_kernel_is_computed_once_for_each_draw(kind, monkeypatch):
    layer = KINDS[kind](4, 1)
    calls = []
    original = type(layer).kernel
    monkeypatch.setattr(type(layer), "kernel", lambda self, weight: calls.append(1) or original(self, weight))
    draw(layer, generator(0))
    assert len(calls) == 1
    for _ in range(5):
        layer(torch.randn(2, 4, 5, 5))
    assert len(calls) == 1


@kinds
def test_modes_do_not_follow_train_and_eval(kind):
    layer = KINDS[kind](4, 1, sigma_init=0.5)
    x = torch.randn(1, 4, 3, 3)
    for training in (True, False):
        layer.train(training)
        resample(layer)
        assert not torch.equal(layer(x), layer(x))
        use_mean(layer)
        assert torch.equal(layer(x), layer(x))


@kinds
def test_state_dicts_hold_weights_and_sigmas_and_nothing_else(kind):
    layer, other = KINDS[kind](4, 1, init="random"), KINDS[kind](4, 1)
    draw(layer, generator(0))
    assert layer.state_dict().keys() == {"weight", "sigma"}
    other.load_state_dict(layer.state_dict())
    draw(other, generator(0))
    x = torch.randn(2, 4, 5, 5)
    assert torch.equal(layer(x), other(x))


@kinds
def test_copies_keep_the_draw_and_are_independent(kind):
    layer = KINDS[kind](4, 1)
    draw(layer, generator(0))
    twin = copy.deepcopy(layer)
    x = torch.randn(2, 4, 5, 5)
    y = layer(x)
    assert torch.equal(twin(x), y)
    draw(twin, generator(1))
    assert torch.equal(layer(x), y)
    assert not torch.equal(twin(x), y)


@kinds
def test_autocast_computes_as_a_convolution_would(kind):
    layer = KINDS[kind](8, 1)
    draw(layer, generator(0))
    x = torch.randn(2, 8, 6, 6)
    exact = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = layer(x.bfloat16())
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), exact, atol=0.1, rtol=0.05)


@kinds
def test_channels_last_memory_passes_through(kind):
    layer = KINDS[kind](8, 1, init="random").to(memory_format=torch.channels_last)
    draw(layer, generator(0))
    x = torch.randn(2, 8, 6, 6)
    y = layer(x.contiguous(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y, layer(x))


@pytest.mark.parametrize("device", ["meta"])
@kinds
def test_a_layer_can_be_made_on_another_device(kind, device):
    layer = KINDS[kind](8, 1, device=torch.device(device))
    assert {tensor.device.type for tensor in (*layer.parameters(), *layer.buffers())} == {device}
    assert layer(torch.zeros(1, 8, 4, 4, device=device)).shape == (1, 8, 4, 4)


@kinds
def test_one_draw_for_each_environment_of_the_batch(kind):
    layer = KINDS[kind](3, 1, init="random", sigma_init=0.5)
    x = torch.randn(6, 3, 5, 5)
    value = draw(layer, generator(0), samples=3)
    together = layer(x)
    for sample in range(3):
        part = slice(2 * sample, 2 * sample + 2)
        hold(layer, type(value)({name: noise[sample] for name, noise in value.items()}))
        torch.testing.assert_close(together[part], layer(x[part]))


@pytest.mark.parametrize("options", [{"channels": 256}, {"channels": 128}])
def test_parameter_counts(options):
    channels = options["channels"]

    def count(layer):
        return sum(parameter.numel() for parameter in layer.parameters())

    assert count(NoisyEventInteraction(channels, 3)) == 2 * 9 * channels**2
    assert count(NoisyEventWeighting(channels)) == 2 * channels
    for shift in (1, 2, 3):
        size = 2 * shift + 1
        assert count(NoisyEventTranslation(channels, shift)) == 2 * (2 * size - 1) * channels


def test_the_papers_parameter_counts():
    def count(kind):
        layers = [KINDS[kind](channels) for channels in (256, 128)]
        return sum(parameter.numel() for layer in layers for parameter in layer.parameters())

    assert {kind: count(kind) for kind in KINDS} == {"interaction": 163_840, "weighting": 768, "translation": 3_840}


def test_a_translation_moves_a_lit_cell_where_its_weight_says():
    layer = NoisyEventTranslation(2, max_shift=2)
    use_mean(layer)
    with torch.no_grad():
        layer.weight.zero_()
        layer.weight[0, 0] = 1  # the left end of the row: what lies two to the left comes here
        layer.weight[1, 5] = 1  # the top of the column: what lies two above comes here
    x = torch.zeros(1, 2, 7, 7)
    x[0, :, 3, 3] = 1
    y = layer(x)
    assert y[0, 0].nonzero().tolist() == [[3, 5]]
    assert y[0, 1].nonzero().tolist() == [[5, 3]]


def test_only_the_cross_of_a_translation_filter_is_trainable():
    weight = NoisyEventTranslation(2, max_shift=1, init="random").dense_weight()
    cross = torch.tensor([[0, 1, 0], [1, 1, 1], [0, 1, 0]]).bool()
    assert (weight[0, 0][cross] != 0).all()
    assert not weight[0, 0][~cross].any()
    assert not weight[0, 1].any()


@pytest.mark.parametrize("source", [nn.Conv2d(4, 6, 3, 2, 1), nn.ConvTranspose2d(4, 6, 4, 2, 1, bias=False)])
class TestBorrowedConvolution:
    def test_without_noise_it_is_the_source(self, source):
        layer = NoisyConv2d(source, sigma_init=0.0)
        x = torch.randn(2, 4, 8, 8)
        assert torch.equal(layer(x), source(x))

    def test_only_the_sigmas_are_its_own(self, source):
        network = nn.ModuleDict({"source": source, "noisy": NoisyConv2d(source)})
        assert {name for name in network.state_dict() if name.startswith("noisy")} == {"noisy.sigma"}
        assert network["noisy"].sigma.shape == source.weight.shape

    def test_its_gradient_reaches_the_source(self, source):
        source.zero_grad()
        layer = NoisyConv2d(source)
        layer(torch.randn(2, 4, 8, 8)).square().sum().backward()
        assert (source.weight.grad != 0).all()
        assert (layer.sigma.grad != 0).all()

    def test_a_copied_network_borrows_from_its_own_source(self, source):
        network = nn.ModuleDict({"source": source, "noisy": NoisyConv2d(source)})
        twin = copy.deepcopy(network)
        assert twin["noisy"].mean_weight() is twin["source"].weight
        assert twin["noisy"].mean_weight() is not source.weight

    def test_a_kernel_of_its_own_starts_as_a_copy(self, source):
        layer = NoisyConv2d(source, sigma_init=0.0, borrow_weight=False)
        assert layer.state_dict().keys() == {"weight", "sigma"}
        x = torch.randn(2, 4, 8, 8)
        assert torch.equal(layer(x), source(x))

    def test_one_draw_for_each_environment(self, source):
        layer = NoisyConv2d(source)
        value = draw(layer, generator(0), samples=2)
        x = torch.randn(2, 4, 8, 8)
        together = layer(x)
        hold(layer, type(value)({name: noise[1] for name, noise in value.items()}))
        torch.testing.assert_close(together[1:], layer(x[1:]))

    def test_it_is_the_sources_convolution_with_the_perturbed_kernel(self, source):
        layer = NoisyConv2d(source, sigma_init=0.5)
        x = torch.randn(6, 4, 8, 8, requires_grad=True)
        convolve = nn.functional.conv2d if isinstance(source, nn.Conv2d) else nn.functional.conv_transpose2d
        value = draw(layer, generator(0), samples=3)[""]
        kernels = source.weight * (1 + 0.5 * value)
        options = source.bias, source.stride, source.padding
        each = [convolve(part, kernel, *options) for part, kernel in zip(x.split(2), kernels, strict=True)]
        together = layer(x)
        torch.testing.assert_close(together, torch.cat(each))
        weights = torch.randn_like(together)
        inputs = [x] if source.bias is None else [x, source.bias]
        expected = torch.autograd.grad((torch.cat(each) * weights).sum(), inputs)
        for ours, plain in zip(torch.autograd.grad((together * weights).sum(), inputs), expected, strict=True):
            torch.testing.assert_close(ours, plain)

    @pytest.mark.parametrize("samples", [None, 2])
    def test_it_compiles_whole_and_follows_the_draw(self, source, samples):
        network = nn.ModuleDict({"source": source, "noisy": NoisyConv2d(source)})
        compiled = torch.compile(lambda x: network["noisy"](x), fullgraph=True, backend="aot_eager")
        x = torch.randn(2, 4, 8, 8)
        for seed in range(2):
            draw(network, generator(seed), samples)
            torch.testing.assert_close(compiled(x), network["noisy"](x))
        assert network["noisy"].source.weight is source.weight


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NoisyEventInteraction(4, kernel_size=2), "kernel_size = 2: must be odd and at least 1"),
        (lambda: NoisyEventInteraction(4, kernel_size=-1), "kernel_size = -1: must be odd and at least 1"),
        (lambda: NoisyEventTranslation(4, max_shift=0), "max_shift = 0: must be at least 1"),
        (lambda: NoisyEventInteraction(0), "channels = 0: must be at least 1"),
        (lambda: NoisyEventWeighting(0), "channels = 0: must be at least 1"),
        (lambda: NoisyEventTranslation(-3), "channels = -3: must be at least 1"),
        (lambda: NoisyEventWeighting(4, sigma_init=float("nan")), "sigma_init = nan: must be finite and not negative"),
        (lambda: NoisyEventWeighting(4, sigma_init=-0.1), "sigma_init = -0.1: must be finite and not negative"),
        (lambda: NoisyEventWeighting(4, init="ones"), "init = 'ones': must be 'identity' or 'random'"),
        (lambda: NoisyConv2d(nn.Linear(3, 4)), "source of type Linear: must be a nn.Conv2d or nn.ConvTranspose2d"),
        (
            lambda: NoisyConv2d(nn.Conv2d(3, 4, 3, padding_mode="circular")),
            "source.padding_mode = 'circular': must be 'zeros'",
        ),
        (
            lambda: NoisyEventWeighting(4)(torch.zeros(1, 3, 5, 5)),
            r"input of shape \(1, 3, 5, 5\) for NoisyEventWeighting: must be \[batch, 4, height, width\]",
        ),
        (
            lambda: NoisyEventTranslation(4)(torch.zeros(4, 5)),
            r"input of shape \(4, 5\) for NoisyEventTranslation: must be \[batch, 4, height, width\]",
        ),
    ],
)
def test_mistakes_are_explained(make, said):
    with pytest.raises(LayerError, match=f"^Invalid {said}"):
        make()


def test_a_sigma_that_is_not_finite_is_refused():
    layer = NoisyEventWeighting(4)
    with torch.no_grad():
        layer.sigma[2] = float("nan")
    with pytest.raises(LayerError, match="Invalid weights, sigmas or noise of NoisyEventWeighting: must be finite"):
        draw(layer)


def test_a_batch_that_the_draws_do_not_divide_is_refused():
    layer = NoisyEventWeighting(4)
    draw(layer, samples=3)
    with pytest.raises(LayerError, match=r"Invalid input of shape \(4, 4, 2, 2\): 3 draws are held.*multiple of 3"):
        layer(torch.zeros(4, 4, 2, 2))


def test_whole_networks_compile_without_graph_breaks():
    source = nn.ConvTranspose2d(4, 4, 4, 2, 1)
    layers = [KINDS[kind](4, 1) for kind in KINDS]
    network = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), *layers, source, NoisyConv2d(nn.Conv2d(4, 4, 3, 1, 1)))
    compiled = torch.compile(network, fullgraph=True)
    x = torch.randn(2, 3, 6, 6)
    draw(network, generator(0))
    torch.testing.assert_close(compiled(x), network(x))
    draw(network, generator(1))
    torch.testing.assert_close(compiled(x), network(x))
    use_mean(network)
    torch.testing.assert_close(compiled(x), network(x))
    resample(network)
    assert not torch.equal(compiled(x), compiled(x))
