"""Episodes whose frames tell where they come from, and replays of them."""

import json

import torch

from evade.game_spec import GameSpec
from evade.replay.chunk import Chunk, join_episodes
from evade.replay.settings import ReplayConfig
from evade.replay.store import Replay

GAME = GameSpec(channels=1, height=1, width=2, levels=256, num_actions=4)


def episode(number, length, ends=True):
    """Frames show (episode, position); actions and rewards follow from the position."""
    position = torch.arange(length + 1, dtype=torch.int32)
    frame = torch.stack([torch.full((length + 1,), number), position], dim=1).to(torch.uint8)
    terminated = torch.zeros(length + 1, dtype=torch.bool)
    terminated[-1] = ends
    return Chunk(
        frame=frame.view(-1, 1, 1, 2),
        action=(position % 4).to(torch.uint8),
        reward=(position % 3 - 1).to(torch.int8),
        raw_reward=position.float(),
        terminated=terminated,
        position=position,
    )


def write(path, data):
    path.write_bytes(data)


def empty(folder, num_frames=2, game=GAME, capacity=4, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    return Replay(folder, game, num_frames, ReplayConfig(**{"holdout": 0.0, **settings}), capacity)


def build(folder, lengths, num_frames=2, **settings):
    """A replay with one chunk for each list of episode lengths."""
    replay = empty(folder, num_frames, **settings)
    for number, chunk in enumerate(lengths):
        episodes = [episode(10 * number + index, length) for index, length in enumerate(chunk)]
        replay.add(join_episodes(episodes), write)
    return replay


def restore(replay, capacity=64):
    """Another replay in the same folder, restored from what the first one saves."""
    again = Replay(replay.folder, GAME, replay.num_frames, replay.config, capacity)
    # As from a checkpoint: through JSON.
    again.restore(replay.saved_tensors(), json.loads(json.dumps(replay.saved_values())))
    return again
