import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from evade.world_models.next_frame import fast_argmax, predict_objects, predict_pixels


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


def objects(odds, last_frame, is_single=False):
    """What is shown of one channel in a row of cells with these log-odds."""
    head = nn.Linear(1, 2)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[0.0], [1.0]]))
        head.bias.zero_()
    features = torch.tensor(odds).view(1, 1, 1, -1)
    before = torch.tensor(last_frame, dtype=torch.uint8).view(1, 1, 1, -1)
    return predict_objects(features, head, before, torch.tensor([is_single])).flatten().tolist()


def test_an_object_in_an_uncertain_place_does_not_vanish():
    assert objects([-0.7, -0.4, -0.9, -5.0], [0, 1, 0, 0]) == [0, 1, 0, 0]
    # Nothing was there before, or it is all but certain to be gone.
    assert objects([-0.7, -0.4, -0.9, -5.0], [0, 0, 0, 0]) == [0, 0, 0, 0]
    assert objects([-4.7, -4.4, -4.9, -5.0], [0, 1, 0, 0]) == [0, 0, 0, 0]


def test_certain_objects_are_decided_cell_by_cell():
    assert objects([3.0, -0.4, 0.1, -5.0], [0, 1, 0, 0]) == [1, 0, 1, 0]
    features, head, before = example()
    predicted = predict_objects(features, head, before, torch.zeros(6, dtype=torch.bool))
    assert torch.equal(predicted, predict_pixels(features, head, 6))


def test_a_single_object_neither_doubles_nor_vanishes():
    assert objects([3.0, -0.4, 0.1, -5.0], [0, 1, 0, 0], is_single=True) == [1, 0, 0, 0]
    assert objects([-4.7, -4.4, -4.9, -5.0], [0, 1, 0, 0], is_single=True) == [0, 1, 0, 0]


def test_single_channels_do_not_change_the_others():
    features, head, before = example()
    is_single = torch.tensor([True, False, False, True, False, False])
    shown = predict_objects(features, head, before, is_single)
    assert (shown[:, is_single].flatten(2).sum(2) == 1).all()
    assert torch.equal(shown[:, ~is_single], predict_pixels(features, head, 6)[:, ~is_single])
