import math

import pytest
import torch
from torch import nn

from evade.config import CollectConfig
from evade.errors import ConfigError
from evade.policies.acting import RandomPolicy, act, choose_action
from evade.records import PolicyOutput

LOGITS = torch.tensor([0.3, -1.2, 2.0, 0.9])


class Constant(nn.Module):
    """The same logits everywhere; the value of an observation is its first cell."""

    num_frames = 1

    def forward(self, observation):
        count = len(observation)
        return PolicyOutput(LOGITS.expand(count, -1), observation.flatten(1)[:, 0].float())


def observations(count):
    return torch.arange(count, dtype=torch.uint8).view(count, 1, 1, 1, 1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_log_probability_is_the_log_softmax_at_the_temperature(temperature):
    decision = act(Constant(), observations(200), temperature, torch.Generator().manual_seed(0))
    expected = torch.log_softmax(LOGITS / temperature, -1)
    assert decision.action.dtype == torch.int64
    assert len(set(decision.action.tolist())) > 2
    assert torch.equal(decision.log_prob, expected[decision.action])
    assert torch.equal(decision.value, torch.arange(200.0))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_actions_are_sampled_with_the_probabilities_of_the_temperature(temperature):
    count = 40_000
    action = choose_action(LOGITS.expand(count, -1), temperature, torch.Generator().manual_seed(0))
    weights = [math.exp(logit / temperature) for logit in LOGITS.tolist()]
    for index, weight in enumerate(weights):
        probability = weight / sum(weights)
        # Five standard deviations of a share.
        tolerance = 5 * math.sqrt(probability * (1 - probability) / count)
        assert (action == index).float().mean().item() == pytest.approx(probability, abs=tolerance)


def test_temperature_0_is_the_argmax_with_the_policys_own_log_probability():
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    decision = act(Constant(), observations(5), 0.0, generator)
    assert decision.action.tolist() == [2] * 5
    assert torch.equal(decision.log_prob, torch.log_softmax(LOGITS, -1)[2].expand(5))
    assert torch.equal(generator.get_state(), before)


def test_the_generator_alone_decides_on_the_actions():
    decisions = [act(Constant(), observations(50), 1.0, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.equal(decisions[0].action, decisions[1].action)
    assert not torch.equal(decisions[0].action, decisions[2].action)


def test_the_random_policy_is_uniform():
    decision = act(RandomPolicy(5), observations(7), 1.0, torch.Generator().manual_seed(0))
    torch.testing.assert_close(decision.log_prob, torch.full((7,), -math.log(5)))
    assert not decision.value.any()


@pytest.mark.parametrize("temperature", [-0.5, math.nan, math.inf])
def test_a_temperature_that_cannot_be_is_refused(temperature):
    with pytest.raises(ConfigError, match="Invalid temperature = .*: must be finite and not negative"):
        act(Constant(), observations(2), temperature, torch.Generator())


def test_each_game_may_have_a_temperature_of_its_own():
    temperatures = [1.0, 2.0, 0.5] * 20_000
    decision = act(
        Constant(), observations(3).repeat(20_000, 1, 1, 1, 1), torch.tensor(temperatures), torch.Generator()
    )
    for row, temperature in enumerate(temperatures[:3]):
        action, log_probs = decision.action[row::3], torch.log_softmax(LOGITS / temperature, -1)
        assert torch.equal(decision.log_prob[row::3], log_probs[action])
        shares = torch.bincount(action, minlength=4) / len(action)
        torch.testing.assert_close(shares, log_probs.exp(), atol=5 * 0.5 / math.sqrt(20_000), rtol=0)


@pytest.mark.parametrize(("trying", "expected"), [(None, [1.5, 1.5, 1.5, 1.5, 1.5]), (2.0, [1.5, 2.0, 1.5, 2.0, 1.5])])
def test_every_second_game_may_try_other_actions(trying, expected):
    assert CollectConfig(temperature=1.5, trying_temperature=trying).temperatures(5) == expected


@pytest.mark.parametrize("trying", [0.0, -1.0, float("inf"), float("nan")])
def test_a_trying_temperature_that_cannot_be_is_refused(trying):
    with pytest.raises(ConfigError, match=r"Invalid collect.trying_temperature = .*: must be None, or finite"):
        CollectConfig(trying_temperature=trying)
