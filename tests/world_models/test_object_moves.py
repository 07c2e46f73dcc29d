"""Objects that may go to several places go to one of them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.world_models.next_frame import predict_objects
from evade.world_models.object_moves import OFFSETS, Moves, move_objects

SHARES = (torch.arange(1000) + 0.5) / 1000
"""All random numbers, as far as probabilities of whole thousandths can tell."""


def show(probability, last_frame, factors=((1.0,), (1.0,))):
    """What is shown for each of `SHARES`, bool `[1000, H, W]`, and what belongs to an object, `[H, W]`."""
    probability, last_frame = (torch.tensor(each, dtype=torch.float64) for each in (probability, last_frame))
    batch = [each.expand(len(SHARES), 1, *each.shape) for each in (probability, last_frame.to(torch.uint8))]
    excess = torch.tensor(factors, dtype=torch.float64).log()
    shown, is_owned = move_objects(Moves(batch[0], SHARES.double(), excess), batch[1], least=0.1)
    return shown[:, 0], is_owned[0, 0]


def frequency(shown):
    return shown.double().mean(0)


def test_an_object_is_in_one_of_three_places_with_their_probabilities():
    shown, is_owned = show([[0.0, 0.3, 0.4, 0.3, 0.0]], [[0, 0, 1, 0, 0]])
    assert (shown.sum((1, 2)) == 1).all()
    torch.testing.assert_close(frequency(shown), torch.tensor([[0.0, 0.3, 0.4, 0.3, 0.0]], dtype=torch.float64))
    assert is_owned.tolist() == [[False, True, True, True, False]]


def test_an_object_ends_with_the_probability_that_no_place_has():
    shown, _ = show([[0.2, 0.5, 0.0]], [[0, 1, 0]])
    assert frequency(shown).tolist() == [[pytest.approx(0.2), pytest.approx(0.5), 0.0]]
    assert (shown.sum((1, 2)) <= 1).all()


def test_an_object_that_is_all_but_certainly_gone_is_gone():
    assert not show([[0.0, 0.05, 0.0]], [[0, 1, 0]])[0].any()


def test_unlikely_places_are_left_to_the_main_one():
    shown, _ = show([[0.08, 0.85, 0.07]], [[0, 1, 0]])
    assert (shown == torch.tensor([[False, True, False]])).all()


def test_a_row_that_may_take_a_step_takes_it_together():
    # Four objects step to the right with probability 0.3.
    shown, _ = show([[0.7, 1.0, 1.0, 1.0, 0.3, 0.0]], [[1, 1, 1, 1, 0, 0]])
    stays, steps = torch.tensor([[1, 1, 1, 1, 0, 0]]).bool(), torch.tensor([[0, 1, 1, 1, 1, 0]]).bool()
    is_step = (shown == steps).all(2)
    assert (is_step | (shown == stays).all(2)).all()
    assert is_step.double().mean() == pytest.approx(0.3)


def test_a_block_that_may_step_down_steps_down_as_a_whole():
    block = [[1, 1, 1], [1, 1, 1], [0, 0, 0]]
    shown, _ = show([[0.6, 0.6, 0.6], [1.0, 1.0, 1.0], [0.4, 0.4, 0.4]], block)
    assert (shown.sum((1, 2)) == 6).all()
    assert shown[:, 0, 0].double().mean() == pytest.approx(0.6)


def test_a_hit_removes_both_objects_in_the_same_dreams():
    shot, enemy = (show([[0.4, 0.0]], [[1, 0]])[0] for _ in range(2))
    assert torch.equal(shot, enemy)


@given(parts=st.lists(st.integers(0, 20), min_size=len(OFFSETS), max_size=len(OFFSETS)), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_one_object_is_never_in_two_places_and_each_has_its_probability(parts, seed):
    # In units of a fiftieth, at most fifty in all; those below a tenth are left out.
    weights = torch.tensor([part if part >= 5 else 0 for part in parts], dtype=torch.float64)
    while weights.sum() > 50:
        weights[weights.argmax()] = 0
    probability = torch.zeros(5, 5, dtype=torch.float64)
    for weight, (row, column) in zip(weights, OFFSETS, strict=True):
        probability[2 + row, 2 + column] = weight / 50
    last_frame = torch.zeros(5, 5)
    last_frame[2, 2] = 1
    shown, _ = show(probability.tolist(), last_frame.tolist())
    assert (shown.sum((1, 2)) <= 1).all()
    torch.testing.assert_close(frequency(shown), probability, atol=2e-3, rtol=0)


def test_new_objects_appear_as_before_and_single_ones_are_not_moved():
    last_frame = torch.zeros(1, 2, 1, 6, dtype=torch.uint8)
    last_frame[0, :, 0, 0] = 1
    # Channel 0 has one object, which stays, and one that is new; channel 1 always shows one object.
    log_odds = torch.tensor([[[[9.0, -9.0, -9.0, -9.0, 1.0, -9.0]], [[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]]]])
    one_object = torch.tensor([[False, False], [False, True]])
    for share, is_new in ((0.2, 0), (0.3, 1)):
        shown = predict_objects(log_odds, last_frame, one_object, torch.tensor([share]), torch.zeros(2, 2))
        assert shown.tolist() == [[[[1, 0, 0, 0, is_new, 0]], [[1, 0, 0, 0, 0, 0]]]]


def test_changes_are_as_rare_as_in_the_game():
    # Batches show an end four times as often, by odds, and so the network expects one with a half instead of a fifth.
    shown, _ = show([[0.0, 0.5, 0.0]], [[0, 1, 0]], [[1.0], [4.0]])
    assert frequency(shown)[0, 1] == pytest.approx(0.8)
    # The same of one object more beside one that stays.
    shown, _ = show([[0.0, 1.0, 0.5]], [[0, 1, 0]], [[4.0], [1.0]])
    assert frequency(shown).tolist() == [[0.0, 1.0, pytest.approx(0.2)]]
    # A step to the next cell changes no number of objects.
    shown, _ = show([[0.0, 0.5, 0.5]], [[0, 1, 0]], [[4.0], [9.0]])
    assert frequency(shown).tolist() == [[0.0, pytest.approx(0.5), pytest.approx(0.5)]]


def test_what_is_certain_is_not_corrected():
    shown, _ = show([[0.0, 0.08, 0.0]], [[0, 1, 0]], [[1.0], [9.0]])
    assert not shown.any()
    shown, _ = show([[0.0, 1.0, 0.95]], [[0, 1, 0]], [[9.0], [1.0]])
    assert shown[:, 0, 1:].all()


def test_new_objects_are_as_rare_as_in_the_game():
    empty = torch.zeros(len(SHARES), 1, 1, 2, dtype=torch.uint8)
    log_odds = torch.tensor([0.0, 2.5]).expand(len(SHARES), 1, 1, 2)
    excess = torch.tensor([[4.0], [1.0]]).log()
    shown = predict_objects(log_odds, empty, torch.tensor([[False]]), SHARES, excess)
    assert frequency(shown).flatten().tolist() == [pytest.approx(0.2), 1.0]
