import math

import pytest
import torch

import goldens
from evade.world_models.losses import certain_log_odds, clipped_binary_cross_entropy, clipped_cross_entropy


@pytest.mark.parametrize("kind", ["det", "sd"])
def test_values_and_gradients_match_t2t_simple(kind):
    golden = goldens.load("losses")
    cutoff = float(golden[f"{kind}/cutoff"])
    frame_logits = torch.from_numpy(golden["in/frame_logits"]).float().requires_grad_()
    reward_logits = torch.from_numpy(golden["in/reward_logits"]).requires_grad_()
    clipped = clipped_cross_entropy(frame_logits, torch.from_numpy(golden["in/frame_target"]).long(), cutoff)
    reward = clipped_cross_entropy(reward_logits, torch.from_numpy(golden["in/reward_target"]).long(), cutoff)
    total = clipped.mean() + reward.mean()
    total.backward()
    goldens.close(clipped, golden[f"{kind}/clipped_xent"], 1e-5)
    goldens.close(clipped.mean(), golden[f"{kind}/frame_loss"], 1e-5)
    goldens.close(reward.mean(), golden[f"{kind}/reward_loss"], 1e-5)
    goldens.close(total, golden[f"{kind}/total_loss"], 1e-5)
    goldens.close(frame_logits.grad[:, ::2, ::3], golden[f"{kind}/grad_frame_logits_sub"], 1e-6)
    goldens.close(reward_logits.grad, golden[f"{kind}/grad_reward_logits"], 1e-6)


def test_a_good_prediction_has_no_loss_and_no_gradient():
    logits = torch.tensor([[9.0, 0.0], [0.0, 1.0]], requires_grad=True)
    loss = clipped_cross_entropy(logits, torch.tensor([0, 0]), cutoff=0.01)
    loss.sum().backward()
    assert loss[0] == 0
    assert torch.equal(logits.grad[0], torch.zeros(2))
    assert logits.grad[1].abs().sum() > 0


def test_the_binary_loss_is_the_two_class_case():
    logits = torch.tensor([0.3, -2.0, 8.0])
    targets = torch.tensor([True, True, True])
    as_classes = torch.stack([torch.zeros(3), logits], dim=1)
    expected = clipped_cross_entropy(as_classes, targets.long(), cutoff=0.01)
    torch.testing.assert_close(clipped_binary_cross_entropy(logits, targets, 0.01), expected)


@pytest.mark.parametrize("cutoff", [0.001, 0.01, 0.3])
def test_certain_log_odds_have_twice_the_loss_of_the_cutoff(cutoff):
    log_odds = torch.tensor([certain_log_odds(cutoff)], dtype=torch.float64)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(log_odds, torch.ones(1, dtype=torch.float64))
    assert loss.item() == pytest.approx(2 * cutoff, rel=1e-9)


def test_without_a_cutoff_nothing_is_certain():
    assert certain_log_odds(0.0) == math.inf
