"""Distributions of dreams and games, held against answers counted by hand."""

import pytest
import torch

from evade.dreams.chance import measure_chance
from evade.records import Rollout, Segments
from fake_worlds import ScriptedPolicy


def grid(*counts):
    """Frames `[T, 1, C, 1, 3]` whose channels show these numbers of objects."""
    frames = torch.zeros(len(counts), 1, len(counts[0]), 1, 3, dtype=torch.uint8)
    for t, by_channel in enumerate(counts):
        for channel, count in enumerate(by_channel):
            frames[t, 0, channel, 0, :count] = 1
    return frames


def segments(frames, rewards, ends):
    ends = torch.tensor(ends).unsqueeze(1)
    happened = ends.long().cumsum(0) - ends.long() == 0
    reward = torch.tensor(rewards).unsqueeze(1) * happened
    return Segments(frames[:1].transpose(0, 1), torch.zeros_like(ends).long(), frames[1:], reward, ends, happened)


def rollout(frames, rewards, ends):
    reward, ends = torch.tensor(rewards).unsqueeze(1), torch.tensor(ends).unsqueeze(1)
    value = torch.full_like(reward, 7.0)
    return Rollout(frames[:-1].unsqueeze(2), ends.long(), value, value, value, reward, ends, ends & False)


GAME = grid((0, 1), (1, 1), (2, 0), (2, 1), (0, 3))
DREAM = grid((0, 1), (0, 1), (0, 3), (1, 0), (1, 1))


def test_events_are_counted_by_channel_before_the_end():
    found = measure_chance(
        ScriptedPolicy([], 2),
        segments(GAME, [0.0, 1, 0, 0], [False] * 4),
        rollout(DREAM, [0.0, 0, 2, 9], [False, False, True, False]),
        discount=0.5,
        has_objects=True,
    )
    # Of three steps in the game: channel 0 none to one, one to two, none; channel 1 none, one to none, none to one.
    assert found["game_appear/0"] == pytest.approx(1 / 3)
    assert found["game_multiply/0"] == pytest.approx(1 / 3)
    assert found["game_vanish/1"] == pytest.approx(1 / 3)
    assert found["game_appear/1"] == pytest.approx(1 / 3)
    assert found["game_appear"] == pytest.approx(1 / 3)
    assert found["game_vanish"] == pytest.approx(1 / 6)
    # The dream ends at its third step, whose frame is the next dream's: two steps count.
    assert found["dream_multiply/1"] == pytest.approx(1 / 2)
    assert found["dream_appear"] == 0
    assert found["dream_vanish"] == 0
    assert found["dream_reward"] == pytest.approx(2 / 4), "not what came after the end"
    assert (found["game_reward"], found["game_reward/1"], found["dream_reward/1"]) == (0.25, 0, 0)
    assert not any(name.endswith("/5") and "reward" in name for name in found), "there are four steps"


def test_the_value_claims_what_it_gives_up_on_the_way():
    steps = segments(GAME, [0.0, 1, 0, 2], [False] * 4)
    dream = rollout(DREAM, [0.0] * 4, [False] * 4)
    policy = ScriptedPolicy([], 2)
    last = policy(steps.frame[-1:].transpose(0, 1)).value.item()
    assert last > 0
    found = measure_chance(policy, steps, dream, discount=0.5, has_objects=False)
    assert found["value_claim"] == pytest.approx(7 - 0.5**4 * last)
    assert found["value_return"] == pytest.approx(0.5 + 2 / 8)
    assert "game_appear" not in found
    ended = segments(GAME, [0.0, 1, 0, 2], [False, True, False, False])
    found = measure_chance(policy, ended, dream, discount=0.5, has_objects=True)
    assert found["value_claim"] == pytest.approx(7), "nothing is left after the end"
    assert found["value_return"] == pytest.approx(0.5)
    assert found["game_appear/0"] == 1, "only the step before the end counts"
