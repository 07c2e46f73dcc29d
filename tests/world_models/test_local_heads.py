"""Rewards and ends as sums over neighbourhoods."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.layers import draw, noisy_layers, use_mean
from evade.records import Statistics, Transitions
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_deterministic, build_fitter
from evade.world_models.local_heads import LocalHeads
from evade.world_models.settings import DeterministicConfig, FitConfig, RewardPathConfig

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


def log_odds_of(heads, frames):
    """The log-odds of each reward but 0, and of the end: `[1, 3]`."""
    action = torch.linspace(-1, 1, SIZE).double().unsqueeze(0)
    with torch.no_grad():
        reward, end = heads(frames, frames[:, -1].double(), action)
    assert reward[0, 1] == 0
    return torch.cat([reward[:, [0, 2]], end.unsqueeze(1)], 1).double()


@pytest.mark.parametrize("event_layers", [(), EVADE])
@settings(deadline=None, max_examples=20)
@given(
    one=st.tuples(st.integers(0, 2), st.integers(4, 5), st.integers(4, 11)),
    other=st.tuples(st.integers(0, 2), st.integers(11, 12), st.integers(4, 11)),
)
def test_evidence_of_distant_objects_adds_up(event_layers, one, other):
    heads = build(event_layers)
    with use_mean(heads):
        nothing = log_odds_of(heads, frames_with())
        apart = [log_odds_of(heads, frames_with(each)) - nothing for each in (one, other)]
        together = log_odds_of(heads, frames_with(one, other)) - nothing
    torch.testing.assert_close(together, apart[0] + apart[1], rtol=1e-3, atol=1e-5)


@settings(deadline=None, max_examples=20)
@given(row=st.integers(5, 8), column=st.integers(5, 10))
def test_an_event_is_as_likely_in_any_place_away_from_the_edge(row, column):
    heads = build()
    torch.testing.assert_close(
        log_odds_of(heads, frames_with((1, row, column), (2, row + 1, column))),
        log_odds_of(heads, frames_with((1, 6, 7), (2, 7, 7))),
        rtol=1e-5,
        atol=1e-6,
    )


def test_a_meeting_is_another_event_than_the_two_objects_apart():
    heads, pair = build(), ((0, 6, 6), (1, 6, 7))
    together = log_odds_of(heads, frames_with(*pair))
    distant = log_odds_of(heads, frames_with(pair[0], (1, 6, 11)))
    assert ((together - distant).abs() > 1e-5).all()


def test_the_gradient_of_an_object_does_not_depend_on_distant_ones():
    heads, one, other = build(), (0, 4, 6), (1, 11, 6)
    gradients = []
    for frames in (frames_with(one), frames_with(one, other)):
        predicted = frames[:, -1].double().requires_grad_()
        reward, _ = heads(frames, predicted, torch.zeros(1, SIZE).double())
        reward.sum().backward()
        gradients.append(predicted.grad[0, :, :7])
    assert gradients[0].abs().max() > 0
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-12)


def test_an_empty_cell_says_nothing():
    """A grid with nothing in it has the log-odds of an event without an object, whatever its size."""
    heads = build()
    with torch.no_grad():
        heads.no_object.copy_(torch.tensor([-1.0, -2.0, -3.0]))
    torch.testing.assert_close(
        log_odds_of(heads, torch.zeros_like(frames_with())), torch.tensor([[-1.0, -2.0, -3.0]]).double()
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
    one = log_odds_of(heads, frames)
    draw(heads, torch.Generator().manual_seed(2))
    other = log_odds_of(heads, frames)
    assert (one[0, :2] != other[0, :2]).all()
    assert one[0, 2] == other[0, 2]


def test_event_layers_at_identity_change_nothing():
    frames = frames_with((0, 6, 6), (1, 6, 7), (2, 5, 6))
    heads = build(EVADE)
    with use_mean(heads):
        torch.testing.assert_close(log_odds_of(heads, frames), log_odds_of(build(), frames))
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


@pytest.mark.parametrize("num_transitions", [1, 50, 400])
def test_decay_falls_with_the_number_of_transitions(num_transitions):
    game = GameSpec(channels=2, height=6, width=6, levels=2, num_actions=3, lowest_reward=0)
    shape = (4, 2, 2, 6, 6)
    batch = Transitions(
        observation=torch.randint(0, 2, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(1)),
        action=torch.tensor([0, 1, 2, 0]),
        next_frame=torch.zeros(4, 2, 6, 6, dtype=torch.uint8),
        reward=torch.tensor([0, 1, 0, 1]),
        terminated=torch.zeros(4, dtype=torch.bool),
    )
    models = []
    for decay in (0.0, 100.0):
        fit = FitConfig(dropout=0, middle_dropout=0, pixel_noise=0, optimiser="adam", head_decay=decay)
        config = DeterministicConfig(hidden_size=8, depth=2, standardise=False, local_heads=True, fit=fit)
        torch.manual_seed(0)
        model = build_deterministic(config, game, 2)
        model.use_statistics(
            Statistics(torch.zeros(2), torch.zeros(2), torch.zeros(()), torch.zeros(2, 2), num_transitions)
        )
        fitter = build_fitter(config, model)
        fitter.update(batch)
        models.append(model)
    rate = fitter.optimiser.param_groups[1]["lr"]
    for plain, decayed in zip(*(model.local_heads.kernels() for model in models), strict=True):
        torch.testing.assert_close(decayed, plain * (1 - rate * 100 / num_transitions))
