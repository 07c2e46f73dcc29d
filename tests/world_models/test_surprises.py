import torch

from evade.world_models.surprises import CAPACITY, MAX_CELLS, Surprises

EMPTY = torch.zeros(1, 2, 3, 4, dtype=torch.uint8)


def with_cells(*cells):
    frame = EMPTY.clone()
    for cell in cells:
        frame.view(-1)[cell] = 1
    return frame


def shown(surprises, row=0, frame=EMPTY):
    return surprises.show(frame, torch.tensor([row])).flatten().nonzero().flatten().tolist()


def observed(predicted, happened, *, is_last=False):
    surprises = Surprises(2, (3, 4))
    surprises.observe(predicted, happened, torch.tensor([is_last]))
    return surprises


def test_what_appeared_unpredicted_is_shown_again():
    surprises = observed(with_cells(1), with_cells(1, 5, 17))
    assert shown(surprises) == [5, 17]
    assert shown(surprises, frame=with_cells(2, 5)) == [2, 5, 17]


def test_a_frame_as_predicted_is_no_surprise():
    assert shown(observed(with_cells(1, 2), with_cells(1, 2))) == []


def test_a_wrong_prediction_is_no_surprise():
    # The object moved to another cell than predicted: repeating that would double objects.
    assert shown(observed(with_cells(1), with_cells(2))) == []
    assert shown(observed(EMPTY, with_cells(*range(MAX_CELLS + 1)))) == []
    assert shown(observed(EMPTY, with_cells(*range(MAX_CELLS)))) == list(range(MAX_CELLS))


def test_the_last_frame_of_a_game_is_no_surprise():
    assert shown(observed(EMPTY, with_cells(3), is_last=True)) == []


def test_surprises_are_as_frequent_as_they_were():
    surprises = Surprises(2, (3, 4))
    happened = torch.cat([EMPTY, with_cells(3), EMPTY, EMPTY])
    surprises.observe(EMPTY.expand(4, -1, -1, -1), happened, torch.zeros(4, dtype=torch.bool))
    rows = surprises.sample(8000, torch.Generator().manual_seed(0))
    assert rows.unique().tolist() == [0, 1, 2, 3]
    frames = surprises.show(EMPTY.expand(8000, -1, -1, -1), rows)
    assert abs(frames.sum() - 2000) < 5 * (8000 * 3 / 16) ** 0.5


def test_before_the_first_transition_nothing_is_shown():
    surprises = Surprises(2, (3, 4))
    assert surprises.sample(5, torch.Generator()).tolist() == [0] * 5
    assert shown(surprises) == []


def test_the_oldest_are_replaced_first():
    surprises = Surprises(2, (3, 4))
    surprises.observe(EMPTY, with_cells(7), torch.tensor([False]))
    surprises.observe(
        EMPTY.expand(CAPACITY - 1, -1, -1, -1),
        EMPTY.expand(CAPACITY - 1, -1, -1, -1),
        torch.zeros(CAPACITY - 1, dtype=torch.bool),
    )
    assert shown(surprises, 0) == [7]
    surprises.observe(EMPTY, with_cells(9), torch.tensor([False]))
    assert shown(surprises, 0) == [9]
    assert surprises.num_seen == CAPACITY + 1
    assert surprises.sample(50, torch.Generator().manual_seed(0)).max() < CAPACITY


def test_surprises_are_saved_with_the_weights():
    surprises = observed(EMPTY, with_cells(5))
    other = Surprises(2, (3, 4))
    other.load_state_dict(surprises.state_dict())
    assert shown(other) == [5]
