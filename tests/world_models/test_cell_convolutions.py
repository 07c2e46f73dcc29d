"""The compiled loop over small maps, held against the layers of torch that it replaces."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from evade.world_models.blocks import CellNorm, DownStage, LocalLayer, MiddleNet, UpStage
from evade.world_models.cell_convolutions import WIDTHS, can_convolve, convolve_cells

PARTS = ("gate", "position", "residual", "norm", "later_position")


def random_norm(channels):
    norm = CellNorm(channels)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    return norm


def compute_plainly(convolution, maps, *, norms_input, out_size, **parts):
    """What the docstring of `convolve_cells` says, in float64."""
    norm, position = parts.get("norm"), parts.get("position")
    if norms_input and norm is not None:
        maps = norm(maps)
    if "gate" in parts:
        maps = maps * parts["gate"][:, :, None, None] + parts["shift"][:, :, None, None]
    if position is not None:
        maps = F.pad(maps, (0, position.shape[2] - maps.shape[3], 0, position.shape[1] - maps.shape[2])) + position
    made = F.relu(convolution(maps))[:, :, : out_size[0], : out_size[1]]
    made = made + parts.get("residual", 0)
    if norm is not None and not norms_input:
        made = norm(made)
    return made + parts.get("later_position", 0)


@settings(deadline=None)
@given(
    channels=st.sampled_from(WIDTHS),
    batch=st.integers(0, 14),
    size=st.tuples(st.integers(2, 7), st.integers(2, 7)),
    kernel=st.sampled_from([(1, 1, 0), (3, 1, 1), (4, 2, 1)]),
    kind=st.sampled_from([nn.Conv2d, nn.ConvTranspose2d]),
    given_parts=st.sets(st.sampled_from(PARTS)),
    norms_input=st.booleans(),
    cropped=st.integers(0, 1),
    seed=st.integers(0, 99),
)
@torch.no_grad()
def test_the_loop_computes_what_the_layers_compute(
    channels, batch, size, kernel, kind, given_parts, norms_input, cropped, seed
):
    torch.manual_seed(seed)
    convolution = kind(channels, channels, *kernel)
    padded = (size[0] + 1, size[1] + size[1] % 2) if "position" in given_parts else size
    out_size = convolution(torch.zeros(1, channels, *padded)).shape[2:]
    out_size = (out_size[0], max(out_size[1] - cropped, 1))
    # Maps come in both memory formats.
    maps = torch.randn(batch, channels, *size)
    if seed % 2:
        maps = maps.contiguous(memory_format=torch.channels_last)
    parts = {
        "position": torch.randn(channels, *padded),
        "residual": torch.randn(batch, channels, *out_size),
        "norm": random_norm(channels),
        "later_position": torch.randn(channels, *out_size),
    }
    parts = {name: part for name, part in parts.items() if name in given_parts}
    if "gate" in given_parts:
        parts |= {"gate": torch.rand(batch, channels), "shift": torch.randn(batch, channels)}
    options = {"norms_input": norms_input, "out_size": out_size}
    made = convolve_cells(convolution, maps, **parts, **options)
    exact = {name: part.double() for name, part in parts.items()}
    expected = compute_plainly(convolution.double(), maps.double(), **exact, **options)
    # A norm of cells that hardly vary divides by little.
    torch.testing.assert_close(made.double(), expected, atol=1e-4, rtol=1e-4)


def test_each_map_is_computed_alike_in_any_batch():
    torch.manual_seed(0)
    convolution, maps = nn.Conv2d(16, 16, 3, padding=1), torch.randn(13, 16, 5, 5)
    alone = torch.cat([convolve_cells(convolution, one, norm=None) for one in maps.split(1)])
    assert torch.equal(convolve_cells(convolution, maps), alone)


def randomise(module):
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


@pytest.mark.parametrize("size", [(5, 5), (10, 10), (3, 6)])
@pytest.mark.parametrize("activation", ["relu", "belu"])
def test_stages_of_the_world_model_are_the_same_with_and_without_gradients(size, activation):
    halved = tuple((side + 1) // 2 for side in size)
    action, maps, small = torch.randn(7, 12), torch.randn(7, 16, *size), torch.randn(7, 16, *halved)
    for module, inputs in (
        (LocalLayer(16, 12, activation), (maps, action)),
        (DownStage(16, 16, activation, dropout=0.0), (maps,)),
        (MiddleNet(16, 3, activation, dropout=0.0), (maps,)),
        (UpStage(16, 16, 12, activation, dropout=0.0), (small, maps, action)),
    ):
        by_layers = randomise(module)(*inputs)
        with torch.no_grad():
            torch.testing.assert_close(module(*inputs), by_layers.detach(), atol=2e-5, rtol=2e-5)
            compiled = torch.compile(module, fullgraph=True, dynamic=False, backend="aot_eager")
            torch.testing.assert_close(compiled(*inputs), by_layers.detach(), atol=2e-5, rtol=2e-5)


def test_a_weight_that_is_not_a_number_is_not_hidden():
    convolution = nn.Conv2d(8, 8, 1)
    nn.init.constant_(convolution.weight, float("nan"))
    assert convolve_cells(convolution, torch.ones(1, 8, 2, 2)).isnan().all()


def test_other_convolutions_are_left_to_torch():
    maps = torch.zeros(2, 16, 4, 4)
    with torch.no_grad():
        assert can_convolve(nn.Conv2d(16, 16, 3, padding=1), maps)
        for other in (
            nn.Conv2d(16, 8, 3),
            nn.Conv2d(24, 24, 3),
            nn.Conv2d(16, 16, 3, groups=2),
            nn.Conv2d(16, 16, 3, bias=False),
            nn.Conv2d(16, 16, (3, 1)),
            nn.Conv2d(16, 16, 3, stride=(1, 2)),
            nn.Conv2d(16, 16, 3, padding=(0, 1)),
            nn.Conv2d(16, 16, 3, dilation=2),
            nn.Conv2d(16, 16, 3, padding=1, padding_mode="circular"),
            nn.Conv2d(16, 16, 3).double(),
            nn.Linear(16, 16),
        ):
            assert not can_convolve(other, maps)
        assert not can_convolve(nn.Conv2d(16, 16, 3), maps.double())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not can_convolve(nn.Conv2d(16, 16, 3), maps)
    assert not can_convolve(nn.Conv2d(16, 16, 3), maps), "the loop has no gradient"


def test_without_a_compiler_torch_convolves(fresh_library, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with torch.no_grad():
        assert not can_convolve(nn.Conv2d(16, 16, 3), torch.zeros(2, 16, 4, 4))
