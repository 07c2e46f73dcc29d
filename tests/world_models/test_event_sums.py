"""The compiled loop over objects, held against the convolutions that it replaces."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.layers import draw
from evade.native import load_library
from evade.vocabulary.variants import EVADE
from evade.world_models.event_prior import EventPrior, EventWeights, sum_densely
from evade.world_models.event_sums import MAX_CHANNELS, can_sum, sum_events


def step(channels, size, actions, share, seed, batch=3):
    """Frames with a share of cells on, actions, and weights of all events: whole numbers, so sums are exact."""
    torch.manual_seed(seed)
    frames = [(torch.rand(batch, 2, channels, *size) < share).to(torch.uint8) for _ in range(2)]
    pair = (channels, channels + 1, 3, 3)
    shapes = [pair, (actions, *pair), pair, (channels, *size), (actions, channels, *size)]
    # The last frame of an observation is not contiguous.
    return [frames[0][:, -1], torch.randint(actions, (batch,)), frames[1][:, 0].clone()], [
        torch.randint(-4, 5, shape).float() for shape in shapes
    ]


@settings(deadline=None)
@given(
    channels=st.integers(1, 20),
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    actions=st.integers(1, 5),
    share=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    without=st.sets(st.sampled_from(range(len(EventWeights._fields)))),
    seed=st.integers(0, 99),
)
def test_the_loop_adds_what_the_convolutions_add(channels, size, actions, share, without, seed):
    inputs, weights = step(channels, size, actions, share, seed)
    chosen = [None if kind in without else weight for kind, weight in enumerate(weights)]
    dense = sum_densely(*inputs, EventWeights(*chosen))
    assert torch.equal(sum_events(*inputs, *chosen), dense)


def test_each_kind_of_event_counts_where_it_should():
    frame = torch.zeros(1, 2, 3, 3, dtype=torch.uint8)
    frame[0, 1, 0, 0] = 1
    _, weights = step(2, (3, 3), 2, 0.0, 0, batch=1)
    empty, action = torch.zeros_like(frame), torch.tensor([1])
    met, met_now, moved, placed, placed_now = weights
    # In the corner: itself in the middle, and the edge (the last kind) on five sides.
    corner = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0)]
    edge = sum(met[1, 2, row, column] for row, column in corner)
    for arguments, expected in (
        ((empty, action, frame, met, None, None, None, None), met[1, 1, 1, 1] + edge),
        (
            (frame, action, empty, None, met_now, None, None, None),
            met_now[1, 1, 1, 1, 1] + sum(met_now[1, 1, 2, row, column] for row, column in corner),
        ),
        (
            (frame, action, frame, None, None, moved, None, None),
            moved[1, 1, 1, 1] + sum(moved[1, 2, row, column] for row, column in corner),
        ),
        ((empty, action, frame, None, None, None, placed, None), placed[1, 0, 0]),
        ((frame, action, empty, None, None, None, None, placed_now), placed_now[1, 1, 0, 0]),
    ):
        torch.testing.assert_close(sum_events(*arguments), expected.reshape(1))


@settings(deadline=None)
@given(
    channels=st.integers(1, 12),
    size=st.tuples(st.integers(1, 10), st.integers(1, 10)),
    actions=st.integers(1, 5),
    share=st.sampled_from([0.0, 0.1, 0.6]),
    layers=st.sets(st.sampled_from(EVADE), min_size=1),
    seed=st.integers(0, 99),
)
def test_the_loop_counts_the_events_that_are_found(channels, size, actions, share, layers, seed):
    (now, action, then), _ = step(channels, size, actions, share, seed, batch=6)
    predicted = torch.where(torch.rand(then.shape) < 0.1, 1 - then, then)
    is_rewarded = torch.rand(6) < 0.3
    options = {"channels": channels, "frame_size": size, "num_actions": actions, "scale": 0.3, "patience": 3.0}
    loop, tensors = (EventPrior([name for name in EVADE if name in layers], **options) for _ in range(2))
    assert loop._has_loop, "there is a C++ compiler where tests run"
    tensors._has_loop = False
    for prior in (loop, tensors):
        prior.counts.fill_(2)
        prior.observe(now, action, then, predicted, is_rewarded)
    assert torch.equal(loop.counts, tensors.counts)
    assert torch.equal(loop.sigma, tensors.sigma)


def test_an_impossible_action_does_not_read_other_memory():
    (now, _, then), weights = step(4, (5, 6), 3, 0.2, 1)
    for action in (-1, 3):
        with pytest.raises(AssertionError, match="actions are checked"):
            sum_events(now, torch.full((3,), action), then, *weights)
    assert sum_events(now[:0], torch.empty(0, dtype=torch.long), then[:0], *weights).shape == (0,)


def test_it_is_a_proper_operator_for_the_compiler():
    inputs, weights = step(4, (5, 6), 3, 0.2, 1)
    torch.library.opcheck(sum_events, (*inputs, *weights))


def test_more_kinds_of_objects_than_bits_use_convolutions():
    assert can_sum(MAX_CHANNELS)
    assert not can_sum(MAX_CHANNELS + 1)
    inputs, weights = step(MAX_CHANNELS, (4, 4), 1, 0.5, 2)
    dense = sum_densely(*inputs, EventWeights(*weights))
    assert torch.equal(sum_events(*inputs, *weights), dense)


def expected_rewards():
    prior = EventPrior(EVADE, channels=4, frame_size=(6, 6), num_actions=3, scale=0.3, patience=0.1)
    draw(prior, torch.Generator().manual_seed(0))
    inputs, _ = step(4, (6, 6), 3, 0.05, 3)
    return prior._has_loop, prior(*inputs)


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_working_compiler_the_prior_is_the_same(compiler, fresh_library, monkeypatch, tmp_path):
    has_loop, fast = expected_rewards()
    assert has_loop
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_library.cache_clear()
    has_loop, slow = expected_rewards()
    assert not has_loop
    torch.testing.assert_close(fast, slow)
