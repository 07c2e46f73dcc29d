"""The compiled loops from binary frames to maps, held against the layers of torch that they replace."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.config.presets import GRID_MODEL
from evade.game_spec import GameSpec
from evade.layers import draw
from evade.vocabulary.variants import VARIANTS
from evade.world_models.build import build_world_model
from evade.world_models.cell_embeddings import can_embed, embed_objects, look_around


def whole_numbers(*shape):
    """Sums and products of few of them are exact, in any order."""
    return torch.randint(-4, 5, shape).float()


def some_frames(*shape, share):
    return (torch.rand(shape) < share).to(torch.uint8)


@settings(deadline=None)
@given(
    size=st.sampled_from([8, 16]),
    batch=st.integers(0, 4),
    num_frames=st.integers(1, 4),
    channels=st.integers(1, 9),
    cells=st.tuples(st.integers(1, 11), st.integers(1, 11)),
    share=st.sampled_from([0.0, 0.1, 1.0]),
    has_context=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_embedding_is_a_linear_map_of_each_cell(size, batch, num_frames, channels, cells, share, has_context, seed):
    torch.manual_seed(seed)
    # The last frames of longer observations lie apart.
    frames = some_frames(batch, num_frames + 2, channels, *cells, share=share)[:, 2:]
    weight, bias = whole_numbers(size, num_frames * channels), whole_numbers(size)
    context, position = whole_numbers(batch, size) if has_context else None, whole_numbers(size, *cells)
    expected = torch.einsum("bchw,dc->bhwd", frames.flatten(1, 2).float(), weight) + bias + position.permute(1, 2, 0)
    if context is not None:
        expected = expected + context[:, None, None]
    assert torch.equal(embed_objects(frames, weight, bias, context, position), expected)


@settings(deadline=None)
@given(
    size=st.sampled_from([8, 16]),
    batch=st.integers(0, 4),
    channels=st.integers(1, 9),
    cells=st.tuples(st.integers(1, 11), st.integers(1, 11)),
    share=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 99),
)
def test_the_first_map_of_the_heads_has_frames_changes_kinds_and_action(size, batch, channels, cells, share, seed):
    torch.manual_seed(seed)
    frames = some_frames(batch, 3, channels, *cells, share=share)[:, 1:]
    predicted = torch.randint(0, 5, (batch, channels, *cells)) / 4
    weight, bias, presence = whole_numbers(size, 5 * channels), whole_numbers(size), whole_numbers(size, channels)
    gate, shift = whole_numbers(batch, size), whole_numbers(batch, size)
    before, last = frames[:, 0].float(), frames[:, 1].float()
    seen = torch.cat([before, last, predicted, predicted * (1 - last), last * (1 - predicted)], 1)
    expected = torch.einsum("bchw,dc->bhwd", seen, weight) + bias + (last.amax((2, 3)) @ presence.t())[:, None, None]
    expected = expected * gate[:, None, None] + shift[:, None, None]
    made, has_object = look_around(frames, predicted, weight, bias, presence, gate, shift)
    assert torch.equal(made, expected)
    assert torch.equal(has_object, frames.bool().any(1).any(1) | (predicted > 0.5).any(1))


def test_they_are_proper_operators_for_the_compiler():
    frames, predicted = some_frames(2, 2, 3, 4, 5, share=0.3), torch.rand(2, 3, 4, 5)
    vectors = torch.rand(8), torch.rand(2, 8), torch.rand(8, 4, 5)
    torch.library.opcheck(embed_objects, (frames, torch.rand(8, 6), *vectors))
    heads = torch.rand(8, 15), torch.rand(8), torch.rand(8, 3), torch.rand(2, 8), torch.rand(2, 8)
    torch.library.opcheck(look_around, (frames, predicted, *heads))


def test_only_bytes_without_gradients_are_embedded_by_the_loop():
    frames = some_frames(2, 2, 3, 4, 5, share=0.3)
    assert not can_embed(frames, 16), "the loop has no gradient"
    with torch.no_grad():
        assert can_embed(frames, 16)
        assert not can_embed(frames, 24)
        assert not can_embed(frames.float(), 16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not can_embed(frames, 16)


@pytest.mark.parametrize("variant", ["simple", "interaction", "weighting", "translation", "evade"])
def test_a_world_model_on_a_grid_is_the_same_with_and_without_gradients(variant):
    torch.manual_seed(0)
    config = GRID_MODEL.with_event_layers(VARIANTS[variant].event_layers)
    model = build_world_model(config, GameSpec(channels=4, height=9, width=10, levels=2, num_actions=3), num_frames=8)
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    draw(model, torch.Generator().manual_seed(0))
    observation, action = some_frames(20, 8, 4, 9, 10, share=0.1), torch.randint(3, (20,))
    by_layers = model(observation, action)
    with torch.no_grad():
        by_loop = model(observation, action)
    for one, other in zip(by_loop, by_layers, strict=True):
        torch.testing.assert_close(one, other.detach(), atol=1e-5, rtol=1e-4)
