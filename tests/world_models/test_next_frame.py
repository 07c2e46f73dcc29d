import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from evade.world_models import object_choice
from evade.world_models.frame_logits import compute_log_odds
from evade.world_models.next_frame import fast_argmax, predict_objects, predict_pixels


@pytest.fixture(params=[True, False], ids=["loop", "tensors"])
def way(request, monkeypatch):
    """Objects are chosen both ways."""
    if request.param:
        assert object_choice._has_loop(), "there is a C++ compiler where tests run"
    else:
        monkeypatch.setattr(object_choice, "_has_loop", lambda: False)


both_ways = pytest.mark.usefixtures("way")


def log_odds_of(features, head):
    return compute_log_odds(features, head.weight, head.bias)


def example():
    """Features `[3, 5, 5, 4]`, a head for six channels of cells that are on or off, and an empty frame."""
    torch.manual_seed(0)
    return torch.randn(3, 5, 5, 4), nn.Linear(5, 12), torch.zeros(3, 6, 5, 4, dtype=torch.uint8)


@given(
    levels=st.sampled_from([2, 3, 5, 32, 64, 96, 200, 256]),
    num_values=st.integers(1, 3),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_of_equal_logits_the_lowest_value_wins(levels, num_values, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(0, num_values, (4, 3, levels), generator=generator)
    first = [[row.index(max(row)) for row in cell] for cell in logits.tolist()]
    assert fast_argmax(logits.to(dtype)).tolist() == first


def objects(odds, last_frame, is_single=False, share=None):
    """What is shown of one channel in a row of cells with these log-odds."""
    head = nn.Linear(1, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.0], [1.0]]))
        head.bias.zero_()
    features = torch.tensor(odds).view(1, 1, 1, -1)
    before = torch.tensor(last_frame, dtype=torch.uint8).view(1, 1, 1, -1)
    share = None if share is None else torch.tensor([share])
    return predict_objects(log_odds_of(features, head), before, torch.tensor([[is_single]]), share).flatten().tolist()


@both_ways
def test_an_object_in_an_uncertain_place_does_not_vanish():
    assert objects([-0.7, -0.4, -0.9, -5.0], [0, 1, 0, 0]) == [0, 1, 0, 0]
    # Nothing was there before, or it is all but certain to be gone.
    assert objects([-0.7, -0.4, -0.9, -5.0], [0, 0, 0, 0]) == [0, 0, 0, 0]
    assert objects([-4.7, -4.4, -4.9, -5.0], [0, 1, 0, 0]) == [0, 0, 0, 0]


@both_ways
def test_certain_objects_are_decided_cell_by_cell():
    assert objects([3.0, -0.4, 0.1, -5.0], [0, 1, 0, 0]) == [1, 0, 1, 0]
    features, head, before = example()
    predicted = predict_objects(log_odds_of(features, head), before, torch.zeros(6, 6, dtype=torch.bool))
    assert torch.equal(predicted, predict_pixels(features, head, 6))


@both_ways
def test_a_single_object_neither_doubles_nor_vanishes():
    assert objects([3.0, -0.4, 0.1, -5.0], [0, 1, 0, 0], is_single=True) == [1, 0, 0, 0]
    assert objects([-4.7, -4.4, -4.9, -5.0], [0, 1, 0, 0], is_single=True) == [0, 1, 0, 0]


@both_ways
def test_single_channels_do_not_change_the_others():
    features, head, before = example()
    is_single = torch.tensor([True, False, False, True, False, False])
    shown = predict_objects(log_odds_of(features, head), before, is_single.diag())
    assert (shown[:, is_single].flatten(2).sum(2) == 1).all()
    assert torch.equal(shown[:, ~is_single], predict_pixels(features, head, 6)[:, ~is_single])


@both_ways
def test_an_object_that_several_channels_share_is_shown_in_one_of_them():
    one_object = torch.eye(4, dtype=torch.bool)
    one_object[:2, :2] = True
    # Channels 0 and 1 share an object, channel 2 shows its own, channel 3 may show any number.
    log_odds = torch.tensor([[[2.0, 1.0], [3.0, 2.5], [-4.0, -5.0], [1.0, 2.0]]])
    one_object[3] = False
    before = torch.zeros(1, 4, 1, 2, dtype=torch.uint8)
    shown = predict_objects(log_odds.unsqueeze(2), before, one_object)
    assert shown.flatten(2).tolist() == [[[0, 0], [1, 0], [1, 0], [1, 1]]]


@both_ways
def test_cells_that_change_together_flip_together():
    # Two objects step to the right with probability 0.3 (log-odds 0.85), another one stays for certain.
    odds, before = [0.85, -0.85, 0.85, -0.85, 9.0], [1, 0, 1, 0, 1]
    assert objects(odds, before, share=0.29) == [0, 1, 0, 1, 1]
    assert objects(odds, before, share=0.31) == [1, 0, 1, 0, 1]
    assert objects(odds, before) == [1, 0, 1, 0, 1]


@both_ways
def test_unlikely_cells_and_single_objects_do_not_flip():
    assert objects([9.0, -2.5, -2.5], [1, 0, 0], share=0.0) == [1, 0, 0]  # probability 0.08 each
    assert objects([0.85, -0.85], [1, 0], is_single=True, share=0.0) == [1, 0]


@both_ways
def test_a_cell_flips_with_its_own_probability():
    torch.manual_seed(0)
    head = nn.Linear(1, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.0], [1.0]]))
        head.bias.zero_()
    features = torch.full((20_000, 1, 1, 1), -0.85)
    empty = torch.zeros(20_000, 1, 1, 1, dtype=torch.uint8)
    shown = predict_objects(log_odds_of(features, head), empty, torch.tensor([[False]]), torch.rand(20_000))
    probability = torch.sigmoid(torch.tensor(-0.85)).item()
    assert abs(shown.float().mean() - probability) < 5 * (probability * (1 - probability) / 20_000) ** 0.5


@given(
    sizes=st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 9), st.integers(1, 9)),
    kind=st.sampled_from(["most likely", "flips", "one place"]),
    objects=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_loop_and_tensors_choose_the_same_cells(sizes, kind, objects, seed):
    torch.manual_seed(seed)
    batch, channels = sizes[:2]
    # Few values, so that cells are equally likely; the last frames of longer observations lie apart.
    log_odds = torch.randint(-9, 10, sizes) / 2
    last_frame = (torch.rand(batch, 2, *sizes[1:]) < objects).to(torch.uint8)[:, 1]
    group = torch.randint(0, 3, (channels,))
    one_object = (group == group[:, None]) & (group > 0)
    share = None if kind == "most likely" else torch.rand(batch)
    excess = torch.randn(2, channels) if kind == "one place" else None
    both = []
    for has_loop in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(object_choice, "_has_loop", lambda has_loop=has_loop: has_loop)
            both.append(predict_objects(log_odds, last_frame, one_object, share, excess))
    assert torch.equal(*both)


def test_the_loop_is_a_proper_operator_for_the_compiler():
    frames, log_odds = torch.zeros(2, 3, 4, 5, dtype=torch.uint8), torch.randn(2, 3, 4, 5)
    one_object = torch.eye(3, dtype=torch.bool)
    some = torch.rand(2), torch.rand(2, 3, 4, 5), torch.rand(2), torch.rand(3, 3)
    for numbers in ((None,) * 4, some):
        torch.library.opcheck(object_choice.choose_objects, (log_odds, frames, one_object, *numbers, (-3.9, 2.2, 0.1)))
