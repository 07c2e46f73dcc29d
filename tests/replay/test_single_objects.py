"""Groups of channels that show one object in every frame."""

import time

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.envs.minigrid import MiniGridGame
from evade.replay.single_objects import SingleObjects


def frames(*shown, channels=4):
    """Frames of 2 x 2 cells; of each the list of channels with an object, once for each object."""
    grids = torch.zeros(len(shown), channels, 2, 2, dtype=torch.uint8)
    for grid, objects in zip(grids, shown, strict=True):
        for channel in objects:
            cell = int(grid[channel].sum())
            grid[channel, cell // 2, cell % 2] = 1
    return grids


def groups(*batches, channels=4):
    tracker = SingleObjects(channels)
    for batch in batches:
        tracker.add(batch)
    found = tracker.find_groups()
    assert torch.equal(found, found.T)
    return sorted({tuple(row.nonzero().flatten().tolist()) for row in found if row.any()})


def test_a_channel_with_one_object_in_every_frame_is_a_group():
    # Channel 0 always shows one object, channel 1 none in the second frame, channel 2 two in the third.
    assert groups(frames([0, 1, 2], [0, 2], [0, 1, 2, 2])) == [(0,)]


def test_channels_that_share_one_object_are_a_group():
    assert groups(frames([0, 3], [1, 3], [2], [0])) == [(0, 1, 2)]


def test_a_frame_without_the_object_or_with_two_dissolves_the_group():
    shared = frames([0], [1])
    assert groups(shared) == [(0, 1)]
    assert groups(shared, frames([0, 1])) == []
    assert groups(shared, frames([2])) == [(0, 1, 2)]
    assert groups(shared, frames([])) == []
    assert groups(shared, frames([0, 0])) == []


def test_two_shared_objects_are_two_groups():
    # Which of 0 and 1, and which of 2 and 3, in all combinations.
    assert groups(frames([0, 2], [0, 3], [1, 2], [1, 3])) == [(0, 1), (2, 3)]


def test_the_order_of_frames_and_batches_does_not_matter():
    every = frames([0, 2], [1, 2], [1, 3], [0, 3], [1, 2, 3])
    assert groups(every) == groups(every[3:], every[:1], every[1:3]) == [(0, 1)]


def test_many_rare_channels_are_searched_at_once():
    rare = [[channel] for channel in range(40)]
    begin = time.perf_counter()
    assert groups(frames(*rare, [], channels=40), channels=40) == []
    assert groups(frames(*rare, channels=40), channels=40) == [tuple(range(40))]
    assert time.perf_counter() - begin < 1


def test_without_frames_and_objects_there_are_no_groups():
    assert groups() == []
    assert groups(frames([], [])) == []


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_every_group_shows_one_object_in_every_frame_and_every_single_channel_is_found(shown):
    grids = frames(*shown)
    found = groups(grids)
    counts = grids.flatten(2).sum(2)
    for group in found:
        assert (counts[:, list(group)].sum(1) == 1).all()
    members = [channel for group in found for channel in group]
    assert len(members) == len(set(members))
    assert {c for c in range(4) if (counts[:, c] == 1).all()} <= {group[0] for group in found if len(group) == 1}


def test_the_objects_of_doorkey_are_found_in_random_play():
    game = MiniGridGame("MiniGrid-DoorKey-5x5-v0")
    actions = np.random.default_rng(0)
    shown = [game.reset(seed=0)[0]]
    for seed in range(3000):
        frame, _, terminated, truncated, _ = game.step(int(actions.integers(game.action_space.n)))
        shown.append(frame)
        if terminated or truncated:
            shown.append(game.reset(seed=seed)[0])
    found = groups(torch.from_numpy(np.stack(shown)), channels=len(game.channels))
    assert [[game.channels[channel] for channel in group] for group in found] == [
        ["facing right", "facing down", "facing left", "facing up"],
        ["agent"],
        ["carried key", "key"],
        ["door open", "door closed", "door locked"],
        ["goal"],
    ]
