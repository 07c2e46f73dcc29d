"""What is measured of a run, held against answers known in advance."""

import pytest
import torch

from evade.layers import NoisyEventWeighting, draw
from evade.records import Prediction, Rollout, Transitions
from evade.training.measurements import measure_accuracy, measure_rollout
from evade.training.phases import POINTS_PER_PHASE, is_log_point


class Adder(torch.nn.Module):
    """Predicts the last frame and, as reward, the action times a noisy weight of 1."""

    def __init__(self):
        super().__init__()
        self.weight = NoisyEventWeighting(1, sigma_init=0.5)

    def initial_memory(self, observation):
        return ()

    def sample_noise(self, batch_size, generator):
        return ()

    def expected_reward(self, observation, action, memory=(), noise=()):
        return self.weight(action.float().view(-1, 1, 1, 1)).flatten()

    def predict(self, observation, action, memory=(), noise=()):
        reward = self.expected_reward(observation, action)
        return Prediction(observation[:, -1], reward, torch.zeros(len(action), dtype=torch.bool))


def transitions(count, wrong_frames=0, wrong_rewards=0):
    frames = torch.zeros(count, 1, 1, 2, 2, dtype=torch.uint8)
    action = torch.arange(count) % 3
    next_frame, reward = frames[:, -1].clone(), action.clone()
    next_frame[:wrong_frames, 0, 0, 0] = 1
    reward[-wrong_rewards or count :] += 1
    return Transitions(frames, action, next_frame, reward, torch.zeros(count, dtype=torch.bool))


@pytest.mark.parametrize(("wrong_frames", "wrong_rewards"), [(0, 0), (5, 0), (0, 9), (40, 40)])
def test_accuracy_counts_whole_frames_and_rewards_of_the_mean_model(wrong_frames, wrong_rewards):
    model = Adder()
    held = draw(model, torch.Generator().manual_seed(3))
    measured = measure_accuracy(model, transitions(40, wrong_frames, wrong_rewards))
    assert measured == {"exact_frames": 1 - wrong_frames / 40, "exact_rewards": 1 - wrong_rewards / 40}
    assert not model.training
    # The draw that was held is held again.
    expected = 1 + 0.5 * held["weight"].item()
    assert model.expected_reward(None, torch.ones(1)).item() == pytest.approx(expected)


def test_a_rollout_is_summed_over_time_and_averaged_over_dreams():
    reward = torch.tensor([[1.0, 0.0], [0.0, 0.0], [2.0, -1.0]])
    ends = torch.tensor([[True, False], [True, False], [False, False]])
    rollout = Rollout(*(torch.empty(3, 2) for _ in range(5)), reward=reward, terminated=ends, truncated=~ends)
    assert {name: value.item() for name, value in measure_rollout(rollout).items()} == {"return": 1.0, "ends": 1.0}


@pytest.mark.parametrize("total", [1, 7, 20, 300, 1501])
def test_metrics_are_logged_at_evenly_spaced_points_that_end_with_the_phase(total):
    points = [done for done in range(1, total + 1) if is_log_point(done, total)]
    assert len(points) == min(total, POINTS_PER_PHASE)
    assert points[-1] == total
    gaps = {later - earlier for earlier, later in zip([0, *points], points, strict=False)}
    assert max(gaps) - min(gaps) <= 1
