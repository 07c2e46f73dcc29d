"""The measures of a posterior, on a model whose posterior is known in closed form."""

import math

import pytest
import torch

from evade.layers import NoisyEventWeighting, current_draw, draw, hold
from evade.records import Transitions
from evade.training.posterior import compare_draws, detection_auc, disagreement, rewards_under_draws, sample_draws

SIGMA = 0.5


class TwoEvents(torch.nn.Module):
    """The reward is the first cell times a weight of 1 with noise, plus the second cell times a weight without."""

    def __init__(self):
        super().__init__()
        self.weight = NoisyEventWeighting(1, sigma_init=SIGMA)

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()

    def expected_reward(self, observation, action, memory=(), noise=()):
        cells = observation[:, -1].flatten(1).float()
        return self.weight(cells[:, :1].view(-1, 1, 1, 1)).flatten() + cells[:, 1]


def steps(first, second, reward):
    """Steps whose last frame has these two cells."""
    frames = torch.tensor([first, second], dtype=torch.uint8).T.reshape(-1, 1, 1, 1, 2)
    count = len(frames)
    zeros = torch.zeros(count, dtype=torch.long)
    return Transitions(frames, zeros, frames[:, 0], torch.tensor(reward), zeros.bool())


@pytest.fixture
def model():
    return TwoEvents().eval()


def test_rewards_under_draws_are_the_closed_form_and_the_held_draw_comes_back(model):
    draws = sample_draws(model, 5, torch.Generator().manual_seed(1))
    held = draw(model, torch.Generator().manual_seed(2))
    batch = steps([1, 0, 2], [0, 1, 1], [0, 0, 0])
    rewards = rewards_under_draws(model, draws, batch.observation, batch.action)
    for row, value in zip(rewards, draws, strict=True):
        weight = 1 + SIGMA * value["weight"].item()
        assert row.tolist() == pytest.approx([weight, 1.0, 2 * weight + 1.0])
    assert current_draw(model) == held
    assert model.weight.mode == "hold"


def test_the_spread_is_sigma_where_the_weight_is_noisy_and_zero_elsewhere(model):
    draws = sample_draws(model, 4000, torch.Generator().manual_seed(3))
    found = compare_draws(model, draws, steps([1, 1], [0, 0], [1, 1]), steps([0, 0], [1, 0], [1, 0]), num_seen=0)
    # Four standard errors of a standard deviation of 4,000 samples.
    assert found.spread == pytest.approx(SIGMA, abs=4 * SIGMA / math.sqrt(2 * 4000))
    assert found.ordinary_spread == 0
    assert (found.mean, found.truth, found.ordinary_error, found.auc) == (1.0, 1.0, 0.0, 1.0)


def test_a_common_scale_is_no_disagreement():
    mean = torch.tensor([1.0, 0.0, 2.0, 0.5])
    scaled = torch.tensor([[0.1], [1.0], [7.0]]) * mean
    assert disagreement(scaled, mean).item() == pytest.approx(0, abs=1e-6)
    # What is orthogonal to the mean model's rewards stays whole: two draws that differ by 2 in one of four steps.
    other = torch.stack([mean, mean])
    other[0, 1], other[1, 1] = 1.0, -1.0
    assert disagreement(other, mean).item() == pytest.approx(math.sqrt(1 / 4))


def test_no_reward_anywhere_leaves_all_disagreement():
    rewards = torch.tensor([[0.3, 0.0], [-0.3, 0.0]])
    assert disagreement(rewards, torch.zeros(2)).item() == pytest.approx(math.sqrt(0.09 / 2))


def test_the_auc_counts_pairs_and_halves_ties():
    assert detection_auc(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 1.0, 2.0])) == pytest.approx((3 + 1.5) / 6)
    assert detection_auc(torch.zeros(4), torch.zeros(5)) == 0.5
    assert detection_auc(torch.tensor([0.0]), torch.tensor([1.0])) == 0.0


def test_holding_a_draw_for_a_question_leaves_no_trace(model):
    draws = sample_draws(model, 2, torch.Generator().manual_seed(4))
    hold(model, draws[0])
    before = model.expected_reward(steps([1], [0], [0]).observation, None)
    rewards_under_draws(model, draws[1:], steps([1], [0], [0]).observation, torch.zeros(1, dtype=torch.long))
    assert torch.equal(model.expected_reward(steps([1], [0], [0]).observation, None), before)
