import pytest
import torch

from evade.dreams.faithfulness import measure_faithfulness
from evade.records import Prediction, Stretches
from fake_worlds import ScriptedPolicy


class Counter:
    """The game's only cell counts up by the action and pays what it shows; the game ends at 6.

    From `wrong_from` on the model shows one more than the game would.
    """

    def __init__(self, wrong_from=100):
        self.wrong_from = wrong_from

    def predict(self, observation, action):
        frame = observation[:, -1] + action[:, None, None, None].to(torch.uint8)
        value = frame.flatten(1)[:, 0]
        shown = torch.where(value >= self.wrong_from, value + 1, value)
        return Prediction(shown[:, None, None, None], value.float(), value == 6)


def stretches(actions, start):
    """What the counting game really does, from each start, under the same actions."""
    values = torch.tensor(start, dtype=torch.uint8) + torch.tensor(actions).cumsum(0).unsqueeze(1).to(torch.uint8)
    ended = (values >= 6).long().cumsum(0)
    happened = ended <= 1
    return Stretches(
        observation=torch.tensor(start, dtype=torch.uint8).view(-1, 1, 1, 1, 1),
        action=torch.tensor(actions).unsqueeze(1).expand(-1, len(start)),
        frame=values[..., None, None, None],
        reward=values * happened.float(),
        terminated=ended == 1,
        happened=happened,
    )


def test_a_perfect_dream_never_parts_from_the_game():
    told = measure_faithfulness(
        Counter(), ScriptedPolicy([1] * 9, 3), stretches([1, 1, 1, 1], [0, 1]), torch.Generator()
    )
    assert told.real_return == (1 + 2 + 3 + 4 + 2 + 3 + 4 + 5) / 2
    assert told.dream_return == told.real_return
    assert told.parting_step == 4


@pytest.mark.parametrize(("wrong_from", "together"), [(1, 0), (2, 1), (3, 2), (5, 4)])
def test_the_parting_step_counts_the_steps_before_the_first_difference(wrong_from, together):
    told = measure_faithfulness(
        Counter(wrong_from), ScriptedPolicy([1] * 9, 3), stretches([1, 1, 1, 1], [0]), torch.Generator()
    )
    assert told.parting_step == together


def test_nothing_counts_after_the_end():
    told = measure_faithfulness(
        Counter(), ScriptedPolicy([2] * 9, 3), stretches([2, 2, 2, 2], [0, 2]), torch.Generator()
    )
    assert told.real_return == (2 + 4 + 6 + 4 + 6) / 2
    assert told.dream_return == told.real_return
    assert told.parting_step == (3 + 2) / 2


def test_a_policy_that_finds_more_in_dreams_than_the_game_gave_is_seen():
    told = measure_faithfulness(Counter(), ScriptedPolicy([1] * 9, 3), stretches([0, 0, 1], [0]), torch.Generator())
    assert told.real_return == 1
    assert told.dream_return == 1 + 2 + 3


def test_dreams_are_sticky_where_the_policy_plays_and_not_where_the_game_is_followed():
    told = measure_faithfulness(
        Counter(),
        ScriptedPolicy([1, 0, 0, 0], 3),
        stretches([1, 0, 0, 0], [0]),
        torch.Generator().manual_seed(0),
        sticky_probability=0.999999,
    )
    # The first action is repeated for ever: 1 + 2 + 3 + 4 points instead of 1 + 1 + 1 + 1.
    assert told.dream_return == 10
    assert told.real_return == 4
    assert told.parting_step == 4
