import pytest
import torch

from evade.dreams.faithfulness import measure_faithfulness
from evade.records import Prediction
from fake_worlds import CountingModel, ScriptedPolicy, counting_segments


def test_a_perfect_dream_never_diverges_from_the_game():
    found = measure_faithfulness(
        CountingModel(), ScriptedPolicy([1] * 9, 3), counting_segments([1, 1, 1, 1], [0, 1]), torch.Generator()
    )
    assert found.game_return == (1 + 2 + 3 + 4 + 2 + 3 + 4 + 5) / 2
    assert found.dream_return == found.game_return
    assert found.divergence_step == 4


@pytest.mark.parametrize(("wrong_from", "num_equal"), [(1, 0), (2, 1), (3, 2), (5, 4)])
def test_the_divergence_step_counts_the_steps_before_the_first_difference(wrong_from, num_equal):
    found = measure_faithfulness(
        CountingModel(wrong_from), ScriptedPolicy([1] * 9, 3), counting_segments([1, 1, 1, 1], [0]), torch.Generator()
    )
    assert found.divergence_step == num_equal


def test_nothing_counts_after_the_end():
    found = measure_faithfulness(
        CountingModel(), ScriptedPolicy([2] * 9, 3), counting_segments([2, 2, 2, 2], [0, 2]), torch.Generator()
    )
    assert found.game_return == (2 + 4 + 6 + 4 + 6) / 2
    assert found.dream_return == found.game_return
    assert found.divergence_step == (3 + 2) / 2


def test_a_policy_that_finds_more_in_dreams_than_the_game_gave_is_seen():
    found = measure_faithfulness(
        CountingModel(), ScriptedPolicy([1] * 9, 3), counting_segments([0, 0, 1], [0]), torch.Generator()
    )
    assert found.game_return == 1
    assert found.dream_return == 1 + 2 + 3


def test_dreams_are_sticky_where_the_policy_plays_and_not_where_the_game_is_followed():
    found = measure_faithfulness(
        CountingModel(),
        ScriptedPolicy([1, 0, 0, 0], 3),
        counting_segments([1, 0, 0, 0], [0]),
        torch.Generator().manual_seed(0),
        sticky_probability=0.999999,
    )
    # The first action is always repeated: 1 + 2 + 3 + 4 points instead of 1 + 1 + 1 + 1.
    assert found.dream_return == 10
    assert found.game_return == 4
    assert found.divergence_step == 4


class Differing(CountingModel):
    """As the game but for one thing: the reward or the end at the second step from 0."""

    def __init__(self, field):
        super().__init__()
        self.field = field

    def predict(self, observation, action, memory, noise):
        prediction = super().predict(observation, action, memory, noise)
        value = prediction.frame.flatten()
        if self.field == "reward":
            return prediction._replace(reward=prediction.reward + (value == 2))
        return prediction._replace(terminated=prediction.terminated | (value == 2))


@pytest.mark.parametrize("field", ["reward", "terminated"])
def test_another_reward_or_end_is_a_divergence_too(field):
    found = measure_faithfulness(
        Differing(field), ScriptedPolicy([1] * 9, 3), counting_segments([1, 1, 1, 1], [0]), torch.Generator()
    )
    assert found.divergence_step == 1


class Remembering(CountingModel):
    """The same game, counted in memory: the frame it is given is not looked at after the start."""

    def initial_memory(self, observation):
        return (torch.zeros(len(observation), dtype=torch.uint8),)

    def predict(self, observation, action, memory, noise):
        value = memory[0] + action.to(torch.uint8)
        return Prediction(value[:, None, None, None], value.float(), value == 6, (value,))


def test_a_model_with_memory_is_followed_with_its_memory():
    found = measure_faithfulness(
        Remembering(), ScriptedPolicy([1] * 9, 3), counting_segments([1, 1, 1, 1], [0]), torch.Generator()
    )
    assert found == (10, 10, 4)
