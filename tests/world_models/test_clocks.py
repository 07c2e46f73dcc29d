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
    return (torch.rand(3, num_frames, channels, 2, 2, generator=generator) < 0.3).to(torch.uint8)


@given(num_frames=st.integers(2, 6), channels=st.integers(1, 3), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_ages_agree_with_a_search_backwards(num_frames, channels, seed):
    observation = random_frames(num_frames, channels, seed)
    found = count_ages(observation).view(3, 2, channels)
    for game in range(3):
        for channel in range(channels):
            frames = observation[game, :, channel].bool()
            steps = [(frames[-2 - step], frames[-1 - step]) for step in range(num_frames - 1)]
            appeared = [bool((after & ~before).any()) for before, after in steps]
            vanished = [bool((before & ~after).any()) for before, after in steps]
            for kind, happened in enumerate((appeared, vanished)):
                assert found[game, kind, channel] == ([*happened, True]).index(True)


@given(num_frames=st.integers(2, 5), num_steps=st.integers(1, 8), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_ages_carried_from_step_to_step_are_those_of_the_last_frames(num_frames, num_steps, seed):
    frames = random_frames(num_frames + num_steps, 2, seed)
    carried = count_ages(frames[:, :num_frames])
    for step in range(num_steps):
        last = num_frames + step
        carried = advance_ages(carried, frames[:, last - 1], frames[:, last], num_frames)
        assert torch.equal(carried, count_ages(frames[:, step + 1 : last + 1]))


def test_new_clocks_change_nothing():
    clocks = Clocks(num_frames=4, channels=2, size=8)
    assert (clocks(count_ages(torch.randint(0, 2, (3, 4, 2, 5, 5), dtype=torch.uint8))) == 0).all()
