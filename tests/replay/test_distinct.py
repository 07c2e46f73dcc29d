import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.replay.distinct import DistinctGroups, frame_keys


@given(st.lists(st.integers(0, 15), min_size=1, max_size=600), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_equal_frames_and_no_others_have_equal_keys(numbers, seed):
    kinds = torch.randint(0, 2, (16, 3, 4, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
    frames = kinds[numbers]
    keys = frame_keys(frames)
    assert keys.shape == (len(numbers),)
    same_frame = (frames.flatten(1).unsqueeze(0) == frames.flatten(1).unsqueeze(1)).all(2)
    assert torch.equal(keys.unsqueeze(0) == keys.unsqueeze(1), same_frame)


def test_no_frames_have_no_keys():
    assert frame_keys(torch.empty(0, 1, 2, 2, dtype=torch.uint8)).shape == (0,)


def test_each_group_is_equally_likely_and_so_is_each_place_in_it():
    places, keys = torch.tensor([10, 20, 30, 40, 50]), torch.tensor([7, -3, 7, 7, 7])
    sampled = DistinctGroups(places, keys).sample(20_000, torch.Generator().manual_seed(0))
    counts = {place: int((sampled == place).sum()) for place in places.tolist()}
    assert abs(counts[20] - 10_000) < 5 * (20_000 / 4) ** 0.5
    assert all(abs(counts[place] - 2500) < 5 * (20_000 * 7 / 64) ** 0.5 for place in (10, 30, 40, 50))
