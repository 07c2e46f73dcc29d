"""How long ago something changed, by the compiled loop and by tensors."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evade.world_models import ages as module
from evade.world_models.ages import WIDEST, advance_ages, count_ages


@pytest.fixture(params=[True, False], ids=["loop", "tensors"], autouse=True)
def way(request, monkeypatch):
    """All tests of this file run both ways."""
    if request.param:
        assert module._has_loop(), "there is a C++ compiler where tests run"
    else:
        monkeypatch.setattr(module, "_has_loop", lambda: False)


def ages(frames):
    """Ages of the last appearance and of the last disappearance in one channel of frames with two cells."""
    return count_ages(torch.tensor(frames, dtype=torch.uint8).view(1, len(frames), 1, 1, 2))[0].tolist()


def test_an_age_is_the_number_of_steps_since_the_last_change():
    assert ages([(0, 0), (0, 0), (0, 0)]) == [2, 2]
    assert ages([(0, 0), (0, 0), (1, 0)]) == [0, 2]
    assert ages([(0, 0), (1, 0), (0, 0)]) == [1, 0]
    assert ages([(1, 0), (0, 1), (0, 1)]) == [1, 1]
    assert ages([(1, 1), (1, 0), (1, 1), (1, 1)]) == [1, 2]


def random_frames(num_frames, channels, seed, size=(3, 4), share=0.1):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(3, num_frames, channels, *size, generator=generator) < share).to(torch.uint8)


def around(frame, cell):
    """The cells within one cell of a cell."""
    row, column = cell.tolist()
    return frame[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]


@given(num_frames=st.integers(2, 6), channels=st.integers(1, 3), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@given(
    size=st.tuples(st.integers(1, 12), st.one_of(st.integers(1, 17), st.just(WIDEST))),
    share=st.sampled_from([0.0, 0.02, 0.5]),
    births=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_loop_and_tensors_agree_on_grids_of_any_size(size, share, births, seed):
    # Parts of longer observations, whose rows lie apart.
    observation = random_frames(7, 4, seed, size, share)[:, 1:, 1:]
    observation[:, 2] = observation[:, 1]
    before, after = observation[:, 4], observation[:, 5]
    both = []
    for has_loop in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_has_loop", lambda has_loop=has_loop: has_loop)
            counted = count_ages(observation[:, :-1], births)
            both.append((counted, advance_ages(counted, before, after, num_frames=5)))
    for by_loop, by_tensors in zip(*both, strict=True):
        assert torch.equal(by_loop, by_tensors)


def test_they_are_proper_operators_for_the_compiler():
    observation = random_frames(4, 2, seed=0)
    torch.library.opcheck(module._count_ages, (observation, 4))
    torch.library.opcheck(module._advance_ages, (count_ages(observation), observation[:, 0], observation[:, 1], 3))
