import torch

from evade.world_models.lines import Lines


def test_new_lines_change_nothing():
    assert (Lines(2, 8)(torch.ones(3, 2, 4, 5, dtype=torch.uint8)) == 0).all()


def test_an_object_is_seen_in_its_row_and_in_its_column():
    lines = Lines(channels=2, size=2)
    with torch.no_grad():
        lines.rows.weight.copy_(torch.eye(2))
        lines.columns.weight.copy_(10 * torch.eye(2))
    frame = torch.zeros(1, 2, 3, 4, dtype=torch.uint8)
    frame[0, 1, 2, 1] = 1
    # A second object of the line changes nothing.
    frame[0, 1, 2, 3] = 1
    seen = lines(frame)
    assert seen.shape == (1, 2, 3, 4)
    assert (seen[0, 0] == 0).all()
    assert seen[0, 1].tolist() == [[0, 10, 0, 10], [0, 10, 0, 10], [1, 11, 1, 11]]
