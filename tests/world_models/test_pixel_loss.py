from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from evade.world_models import frame_logits
from evade.world_models.losses import clipped_cross_entropy
from evade.world_models.next_frame import predict_pixels
from evade.world_models.pixel_loss import compute_pixel_loss, pixel_loss_and_gradients


def example(batch=2, size=5, height=3, width=4, channels=2, levels=6, dtype=torch.float32, seed=0):
    """Features `[B, D, H, W]`, a head, and frames; some predictions are good enough to be clipped."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(batch, size, height, width, generator=generator).to(dtype)
    head = nn.Linear(size, channels * levels).to(dtype)
    with torch.no_grad():
        head.weight.copy_(3 * torch.randn(head.weight.shape, generator=generator))
        head.bias.copy_(torch.randn(head.bias.shape, generator=generator))
    frame = torch.randint(0, levels, (batch, channels, height, width), generator=generator, dtype=torch.uint8)
    logits = plain_logits(features, head, channels)
    most_likely = logits.argmax(-1).permute(0, 3, 1, 2).to(torch.uint8)
    return features.requires_grad_(), head, torch.where(frame % 2 == 0, most_likely, frame)


def plain_logits(features, head, channels):
    return head(features.permute(0, 2, 3, 1)).unflatten(-1, (channels, -1))


def plain_loss(features, head, frame, cutoff):
    logits = plain_logits(features, head, frame.shape[1])
    return clipped_cross_entropy(logits, frame.permute(0, 2, 3, 1).long(), cutoff).mean()


def in_chunks(cells, channels_times_levels):
    """Makes chunks of the given number of cells."""
    return patch.object(frame_logits, "CHUNK_BYTES", 4 * channels_times_levels * cells)


def loss_and_gradients(function, features, head, frame, cutoff):
    loss = function(features, head, frame, cutoff)
    return loss, *torch.autograd.grad(3 * loss, (features, head.weight, head.bias))


@given(
    batch=st.integers(1, 3),
    size=st.integers(1, 7),
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    channels=st.integers(1, 4),
    levels=st.sampled_from([2, 3, 32, 64]),
    cells=st.integers(1, 80),
    cutoff=st.sampled_from([0.0, 0.01, 0.5]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_chunks_of_any_size_give_the_plain_loss_and_gradients(
    batch, size, height, width, channels, levels, cells, cutoff, seed
):
    arguments = *example(batch, size, height, width, channels, levels, seed=seed), cutoff
    expected = loss_and_gradients(plain_loss, *arguments)
    with in_chunks(cells, channels * levels):
        actual = loss_and_gradients(compute_pixel_loss, *arguments)
        with torch.no_grad():
            alone = compute_pixel_loss(*arguments)
        frame = predict_pixels(arguments[0], arguments[1], channels)
    for ours, plain in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, plain, atol=2e-6, rtol=2e-5)
    torch.testing.assert_close(alone, expected[0], atol=2e-6, rtol=2e-5)
    logits = plain_logits(arguments[0], arguments[1], channels)
    chosen = logits.gather(-1, frame.permute(0, 2, 3, 1).long().unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(chosen, logits.amax(-1), atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("cutoff", [0.0, 0.01])
@pytest.mark.parametrize("chunk_size", [1, 5, 24, 100])
def test_gradients_are_the_derivatives(cutoff, chunk_size):
    features, head, frame = example(dtype=torch.float64)
    cells = features.permute(0, 2, 3, 1).flatten(0, 2)
    target = frame.permute(0, 2, 3, 1).flatten(0, 2)
    assert torch.autograd.gradcheck(
        lambda x, weight, bias: pixel_loss_and_gradients(x, weight, bias, target, cutoff, chunk_size)[0],
        (cells.detach().requires_grad_(), head.weight, head.bias),
    )


def test_good_predictions_have_neither_loss_nor_gradient():
    features, head, _ = example()
    frame = plain_logits(features, head, 2).argmax(-1).permute(0, 3, 1, 2).to(torch.uint8)
    with torch.no_grad():
        head.weight *= 1e4
    with in_chunks(5, 12):
        loss, *gradients = loss_and_gradients(compute_pixel_loss, features, head, frame, 0.01)
    assert loss == 0
    assert not any(gradient.any() for gradient in gradients)


def test_a_hopeless_prediction_has_a_finite_loss():
    head = nn.Linear(1, 3)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.copy_(torch.tensor([500.0, 0.0, -500.0]))
    features = torch.ones(1, 1, 2, 2, requires_grad=True)
    frame = torch.tensor([0, 1, 2, 2], dtype=torch.uint8).view(1, 1, 2, 2)
    with in_chunks(1, 3):
        loss = compute_pixel_loss(features, head, frame, 0.0)
    assert loss.item() == pytest.approx((0 + 500 + 1000 + 1000) / 4)


@pytest.mark.parametrize("threads", [1, 2])
def test_no_operation_sees_more_logits_than_a_chunk_has(threads):
    before = torch.get_num_threads()
    features, head, frame = example(batch=4, height=20, width=20, channels=3, levels=64)
    torch.set_num_threads(threads)
    try:
        with in_chunks(50, 3 * 64), torch.profiler.profile(record_shapes=True) as profile:
            loss_and_gradients(compute_pixel_loss, features, head, frame, 0.01)
            with torch.no_grad():
                compute_pixel_loss(features, head, frame, 0.01)
                predict_pixels(features, head, 3)
    finally:
        torch.set_num_threads(before)
    sizes = {event.name: [torch.Size(shape).numel() for shape in event.input_shapes] for event in profile.events()}
    assert max(sizes["aten::_softmax"]) == threads * 50 * 3 * 64
    assert max(max(each, default=0) for each in sizes.values()) == threads * 50 * 3 * 64


def test_low_precision_features_keep_loss_and_sums_in_float32():
    features, head, frame = example(batch=4, height=16, width=16, channels=3, levels=32)
    low = features.detach().bfloat16().requires_grad_()
    expected = loss_and_gradients(plain_loss, low.detach().float().requires_grad_(), head, frame, 0.01)
    with in_chunks(100, 96):
        actual = loss_and_gradients(compute_pixel_loss, low, head, frame, 0.01)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inside = loss_and_gradients(compute_pixel_loss, low, head, frame, 0.01)
    assert [one.dtype for one in actual] == [torch.float32, torch.bfloat16, torch.float32, torch.float32]
    assert actual[0].item() == pytest.approx(expected[0].item(), rel=2e-3)
    for ours, plain in zip(actual[1:], expected[1:], strict=True):
        assert F.cosine_similarity(ours.float().flatten(), plain.flatten(), dim=0) > 0.9995
    assert all(torch.equal(one, other) for one, other in zip(actual, inside, strict=True))


def test_the_loss_compiles_whole():
    features, head, frame = example()
    with in_chunks(7, 12):
        compiled = torch.compile(compute_pixel_loss, fullgraph=True, backend="aot_eager")
        actual = loss_and_gradients(compiled, features, head, frame, 0.01)
        expected = loss_and_gradients(compute_pixel_loss, features, head, frame, 0.01)
        frames = torch.compile(predict_pixels, fullgraph=True, backend="aot_eager")(features, head, 2)
        assert torch.equal(frames, predict_pixels(features, head, 2))
    for ours, plain in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, plain)


@pytest.mark.parametrize("cutoff", [0.0, 0.03])
def test_two_values_give_the_loss_and_gradients_of_a_softmax_over_them(cutoff):
    features, head, frame = example(levels=2, channels=3)
    loss = compute_pixel_loss(features, head, frame, cutoff)
    plain = plain_loss(features, head, frame, cutoff)
    torch.testing.assert_close(loss, plain)
    for one, other in zip(
        torch.autograd.grad(loss, [features, head.weight, head.bias]),
        torch.autograd.grad(plain, [features, head.weight, head.bias]),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)
