"""The frontier: where dreams start if they are to find what the posterior does not know."""

import pytest
import torch

from evade.errors import CheckpointMismatch
from evade.game_spec import GameSpec
from evade.replay.chunk import Chunk
from evade.replay.settings import ReplayConfig
from evade.replay.store import Replay
from evade.training import frontier
from evade.training.frontier import Frontier

GAME = GameSpec(channels=1, height=1, width=1, levels=256, num_actions=2)
CPU = torch.device("cpu")


class Curious:
    """Finds a transition the more novel the larger its frame's only cell is; frame 0 is not novel at all."""

    def novelty(self, batch):
        return batch.observation[:, -1].flatten().float()


def replay_of(tmp_path, *collections):
    """One chunk for each collection of frames' values, each a game that ends."""
    replay = Replay(tmp_path, GAME, 1, ReplayConfig(holdout=0.0, pads_starts=True), 4)
    for values in collections:
        add(replay, values)
    return replay


def add(replay, values):
    frame = torch.tensor([*values, 255], dtype=torch.uint8).view(-1, 1, 1, 1)
    zeros = torch.zeros(len(frame))
    position = torch.arange(len(frame), dtype=torch.int32)
    chunk = Chunk(frame, zeros.to(torch.uint8), zeros.to(torch.int8), zeros, position == len(values), position)
    replay.add(chunk, lambda path, data: path.write_bytes(data))


def test_the_most_novel_frames_of_all_collections_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(frontier, "SIZE", 3)
    replay = replay_of(tmp_path, [5, 1, 9, 0])
    known = Frontier()
    known.extend(Curious(), replay, CPU)
    assert replay.observations(known.windows).flatten().tolist() == [9, 5, 1]
    add(replay, [2, 7, 0])
    known.extend(Curious(), replay, CPU)
    assert replay.observations(known.windows).flatten().tolist() == [9, 7, 5]
    starts = known.starts(300, replay, torch.Generator().manual_seed(0))
    assert starts.shape == (300, 1, 1, 1, 1)
    assert {*starts.flatten().tolist()} == {5, 7, 9}


def test_without_novel_frames_there_are_no_starts(tmp_path):
    replay = replay_of(tmp_path, [0, 0, 0])
    known = Frontier()
    known.extend(Curious(), replay, CPU)
    assert len(known.starts(5, replay, torch.Generator())) == 0
    assert known.saved_tensors() == {}


@pytest.mark.parametrize("windows", [torch.tensor([1.0]), torch.tensor([[1]]), torch.tensor([-1])])
def test_what_is_no_list_of_frames_is_refused(windows):
    with pytest.raises(CheckpointMismatch, match="windows is not a list of frames"):
        Frontier().restore({"windows": windows}, None)


@pytest.mark.parametrize("values", [[3, 4], [0]])
def test_what_is_saved_is_restored(tmp_path, values):
    known, again = Frontier(), Frontier()
    known.extend(Curious(), replay_of(tmp_path, values), CPU)
    again.restore(known.saved_tensors(), known.saved_values())
    assert again.windows.tolist() == known.windows.tolist()
