"""Rewards and ends as sums over neighbourhoods."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.errors import ConfigError
from evade.layers import draw, noisy_layers, use_mean
from evade.vocabulary.variants import EVADE
from evade.world_models.local_heads import LocalHeads
from evade.world_models.settings import RewardPathConfig

SIZE, CHANNELS, ROWS, COLUMNS = 8, 3, 14, 15


def build(event_layers=(), *, lowest_reward=-1, num_reward_classes=3, predicts_end=True):
    torch.manual_seed(0)
    return LocalHeads(
        RewardPathConfig(event_layers=event_layers),
        channels=CHANNELS,
        size=SIZE,
        lowest_reward=lowest_reward,
        num_reward_classes=num_reward_classes,
        predicts_end=predicts_end,
    ).double()


def frames_with(*objects):
    """Two equal frames with objects at (channel, row, column), and one object of each channel in a corner."""
    frames = torch.zeros(1, 2, CHANNELS, ROWS, COLUMNS, dtype=torch.uint8)
    frames[..., 0, 0] = 1  # so that the kinds of objects that are present never change
    for channel, row, column in objects:
        frames[:, :, channel, row, column] = 1
    return frames


def odds_of(heads, frames):
    """The odds of each reward but 0, and of the end: `[1, 3]`."""
    action = torch.linspace(-1, 1, SIZE).double().unsqueeze(0)
    with torch.no_grad():
        reward, end = heads(frames, frames[:, -1].double(), action)
    assert reward[0, 1] == 0
    return torch.cat([reward[:, [0, 2]], end.unsqueeze(1)], 1).double().exp()


@pytest.mark.parametrize("event_layers", [(), EVADE])
@settings(deadline=None, max_examples=20)
@given(
    one=st.tuples(st.integers(0, 2), st.integers(4, 5), st.integers(4, 11)),
    other=st.tuples(st.integers(0, 2), st.integers(11, 12), st.integers(4, 11)),
)
def test_odds_of_distant_objects_add_up(event_layers, one, other):
    heads = build(event_layers)
    with use_mean(heads):
        nothing = odds_of(heads, frames_with())
        apart = [odds_of(heads, frames_with(each)) - nothing for each in (one, other)]
        together = odds_of(heads, frames_with(one, other)) - nothing
    torch.testing.assert_close(together, apart[0] + apart[1], rtol=1e-3, atol=1e-8)


@settings(deadline=None, max_examples=20)
@given(row=st.integers(5, 8), column=st.integers(5, 10))
def test_an_event_is_as_likely_in_any_place_away_from_the_edge(row, column):
    heads = build()
    torch.testing.assert_close(
        odds_of(heads, frames_with((1, row, column), (2, row + 1, column))),
        odds_of(heads, frames_with((1, 6, 7), (2, 7, 7))),
        rtol=1e-5,
        atol=1e-9,
    )


def test_a_meeting_is_another_event_than_the_two_objects_apart():
    heads, pair = build(), ((0, 6, 6), (1, 6, 7))
    together = odds_of(heads, frames_with(*pair))
    distant = odds_of(heads, frames_with(pair[0], (1, 6, 11)))
    assert ((together - distant).abs() > 1e-3 * distant).all()


def test_an_empty_cell_has_no_odds():
    """A grid with nothing in it has the odds of an event without an object, whatever its size."""
    heads = build()
    with torch.no_grad():
        heads.no_object.copy_(torch.tensor([-1.0, -2.0, -3.0]))
    torch.testing.assert_close(
        odds_of(heads, torch.zeros_like(frames_with())), torch.tensor([[-1.0, -2.0, -3.0]]).double().exp()
    )


def test_an_object_that_is_only_predicted_counts():
    heads, frames = build(), torch.zeros_like(frames_with())
    predicted = torch.zeros(1, CHANNELS, ROWS, COLUMNS).double()
    action = torch.zeros(1, SIZE).double()
    nothing = heads(frames, predicted, action)[0]
    predicted[0, 1, 6, 6] = 0.4
    assert torch.equal(heads(frames, predicted, action)[0], nothing), "less likely than not"
    predicted[0, 1, 6, 6] = 0.6
    assert (heads(frames, predicted, action)[0][0, [0, 2]] > nothing[0, [0, 2]]).all()


def test_draws_change_rewards_and_never_ends():
    heads, frames = build(EVADE), frames_with((0, 6, 6), (1, 6, 7))
    draw(heads, torch.Generator().manual_seed(1))
    one = odds_of(heads, frames)
    draw(heads, torch.Generator().manual_seed(2))
    other = odds_of(heads, frames)
    assert (one[0, :2] != other[0, :2]).all()
    assert one[0, 2] == other[0, 2]


def test_event_layers_at_identity_change_nothing():
    frames = frames_with((0, 6, 6), (1, 6, 7), (2, 5, 6))
    heads = build(EVADE)
    with use_mean(heads):
        torch.testing.assert_close(odds_of(heads, frames), odds_of(build(), frames))
    assert len(noisy_layers(heads)) == 7  # three in each stage and the last convolution


def test_there_may_be_no_head_for_the_end():
    frames = frames_with((0, 6, 6))
    for event_layers in ((), EVADE):
        heads = build(event_layers, predicts_end=False)
        reward, end = heads(frames, frames[:, -1].double(), torch.zeros(1, SIZE).double())
        assert end is None
        assert reward.shape == (1, 3)


def test_rewards_need_not_be_negative():
    frames = frames_with((0, 6, 6))
    heads = build(lowest_reward=0, num_reward_classes=2)
    reward, _ = heads(frames, frames[:, -1].double(), torch.zeros(1, SIZE).double())
    assert reward.shape == (1, 2)
    assert reward[0, 0] == 0


def test_rewards_without_zero_are_refused():
    with pytest.raises(ConfigError, match=r"Invalid world_model.local_heads = True: must be False.*rewards from 1 on"):
        build(lowest_reward=1)
