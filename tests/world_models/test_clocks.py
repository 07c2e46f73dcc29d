import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.world_models.clocks import Clocks, advance_ages, count_ages


def ages(frames):
    """Ages of the last appearance and of the last disappearance in one channel of frames with two cells."""
    return count_ages(torch.tensor(frames, dtype=torch.uint8).view(1, len(frames), 1, 1, 2))[0].tolist()


def test_an_age_is_the_number_of_steps_since_the_last_change():
    assert ages([(0, 0), (0, 0), (0, 0)]) == [2, 2]
    assert ages([(0, 0), (0, 0), (1, 0)]) == [0, 2]
    assert ages([(0, 0), (1, 0), (0, 0)]) == [1, 0]
    assert ages([(1, 0), (0, 1), (0, 1)]) == [1, 1]
    assert ages([(1, 1), (1, 0), (1, 1), (1, 1)]) == [1, 2]


def random_frames(num_frames, channels, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(3, num_frames, channels, 3, 4, generator=generator) < 0.1).to(torch.uint8)


def around(frame, cell):
    """The cells within one cell of a cell."""
    row, column = cell.tolist()
    return frame[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]


@given(num_frames=st.integers(2, 6), channels=st.integers(1, 3), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_ages_agree_with_a_search_backwards(num_frames, channels, seed):
    observation = random_frames(num_frames, channels, seed)
    found = count_ages(observation, sees_births=True).view(3, 4, channels)
    assert torch.equal(count_ages(observation).view(3, 2, channels), found[:, :2])
    for game in range(3):
        for channel in range(channels):
            frames = observation[game, :, channel].bool()
            steps = [(frames[-2 - step], frames[-1 - step]) for step in range(num_frames - 1)]
            appeared = [bool((after & ~before).any()) for before, after in steps]
            vanished = [bool((before & ~after).any()) for before, after in steps]
            born = [any(not around(before, cell).any() for cell in after.nonzero()) for before, after in steps]
            died = [any(not around(after, cell).any() for cell in before.nonzero()) for before, after in steps]
            for kind, happened in enumerate((appeared, vanished, born, died)):
                assert found[game, kind, channel] == ([*happened, True]).index(True)


@given(num_frames=st.integers(2, 5), num_steps=st.integers(1, 8), seed=st.integers(0, 1000), births=st.booleans())
@settings(max_examples=40, deadline=None)
def test_ages_carried_from_step_to_step_are_those_of_the_last_frames(num_frames, num_steps, seed, births):
    frames = random_frames(num_frames + num_steps, 2, seed)
    carried = count_ages(frames[:, :num_frames], births)
    for step in range(num_steps):
        last = num_frames + step
        carried = advance_ages(carried, frames[:, last - 1], frames[:, last], num_frames)
        assert torch.equal(carried, count_ages(frames[:, step + 1 : last + 1], births))


def test_a_shot_that_flies_is_born_once():
    flight = torch.zeros(1, 6, 1, 6, 1, dtype=torch.uint8)
    for step in range(1, 6):
        flight[0, step, 0, step] = 1
    appeared, vanished, born, died = count_ages(flight, sees_births=True)[0].tolist()
    assert (appeared, vanished) == (0, 0)
    assert (born, died) == (4, 5)


@pytest.mark.parametrize("counts", [False, True])
def test_new_clocks_change_nothing(counts):
    clocks = Clocks(num_frames=4, channels=2, size=8, counts=counts)
    observation = random_frames(4, 2, seed=0)
    assert (clocks(clocks.count_ages(observation), observation[:, -1], None) == 0).all()


def test_a_count_is_seen_where_nothing_changes():
    clocks = Clocks(num_frames=3, channels=1, size=8, counts=True)
    torch.nn.init.normal_(clocks.embedding.weight)
    still = torch.zeros(3, 3, 1, 6, 6, dtype=torch.uint8)
    still[1, :, 0, 0, :2] = 1
    still[2, :, 0, :5] = 1
    is_single = torch.tensor([False])
    few, more, many = clocks(clocks.count_ages(still), still[:, -1], is_single)
    assert not torch.equal(few, more)
    # Counts above the highest one look the same.
    still[2, :, 0] = 1
    assert torch.equal(clocks(clocks.count_ages(still), still[:, -1], is_single)[2], many)


def test_a_single_object_that_jumps_is_not_born():
    clocks = Clocks(num_frames=3, channels=1, size=8, counts=True)
    torch.nn.init.normal_(clocks.embedding.weight)
    jump, step = torch.zeros(2, 1, 3, 1, 6, 6, dtype=torch.uint8)
    jump[0, :2, 0, 0, 0] = step[0, :2, 0, 0, 0] = 1
    jump[0, 2, 0, 5, 5] = step[0, 2, 0, 0, 1] = 1
    seen = [
        [clocks(clocks.count_ages(each), each[:, -1], torch.tensor([is_single])) for each in (jump, step)]
        for is_single in (True, False)
    ]
    assert torch.equal(*seen[0])
    assert not torch.equal(*seen[1])
