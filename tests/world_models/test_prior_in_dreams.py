"""How much a dream may pay for the unknown."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from evade.game_spec import GameSpec
from evade.layers import draw, use_mean
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_world_model
from evade.world_models.settings import DeterministicConfig, RewardPathConfig

GAME = GameSpec(channels=2, height=6, width=6, levels=2, num_actions=3, lowest_reward=0)
NUM_FRAMES, NUM_DREAMS, LENGTH = 4, 5, 3
SCALE = 0.3


def build(**changes):
    """A model whose draws differ by the prior alone."""
    torch.manual_seed(0)
    reward = RewardPathConfig(event_layers=EVADE, sigma_init=0.0, prior_scale=SCALE, estimate="expected")
    config = DeterministicConfig(
        hidden_size=8,
        depth=2,
        standardise=False,
        keeps_objects=True,
        predicts_end=True,
        clocks=True,
        reward=replace(reward, **changes),
    )
    return build_world_model(config, GAME, NUM_FRAMES).eval()


def starts():
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 2, (NUM_DREAMS, NUM_FRAMES, 2, 6, 6), dtype=torch.uint8, generator=generator)


ACTION = torch.tensor([0, 1, 2, 0, 1])


def dream(model, draw_seed):
    """Rewards `[LENGTH, NUM_DREAMS]` under one draw, or under the mean without a seed, and the memory at the end."""
    if draw_seed is not None:
        draw(model, torch.Generator().manual_seed(draw_seed))
    observation, memory, rewards = starts(), (), []
    with nullcontext() if draw_seed is not None else use_mean(model):
        for _ in range(LENGTH):
            prediction = model.predict(observation, ACTION, memory)
            observation = torch.cat([observation[:, 1:], prediction.frame.unsqueeze(1)], 1)
            memory = prediction.memory
            rewards.append(prediction.reward)
    return torch.stack(rewards), memory


@pytest.mark.parametrize("budget", [0.05, 0.5])
def test_a_dream_pays_no_more_for_the_unknown_than_its_budget(budget):
    mean, _ = dream(build(), None)
    unlimited, memory = dream(build(), 3)
    assert len(memory) == 1, "the clocks alone"
    added = unlimited - mean
    assert (added.abs() > 0.01).all(), "the example should pay at every step"
    limited, memory = dream(build(prior_budget=budget), 3)
    left = torch.full((NUM_DREAMS,), budget)
    for step in range(LENGTH):
        paid = added[step] / SCALE * left
        torch.testing.assert_close(limited[step], mean[step] + paid)
        left = left - paid.abs()
    torch.testing.assert_close(memory[-1], left)
    assert ((limited - mean).abs().sum(0) < budget).all()


def test_the_budget_does_not_change_what_draws_expect_of_a_single_step():
    expected = []
    for budget in (0.0, 0.05):
        model = build(prior_budget=budget)
        draw(model, torch.Generator().manual_seed(3))
        expected.append(model.expected_reward(starts(), ACTION, model.initial_memory(starts())))
    assert torch.equal(*expected)
