"""Chunks and records that no run of this game can have written."""

import hashlib

import pytest
import torch
import zstandard

from episodes import GAME, build, empty, episode, restore
from evade.errors import ReplayCorrupt
from evade.replay.chunk import encode
from evade.replay.store import Replay


def restore_forged(replay, **changes):
    """Restore from a checkpoint whose first record was changed."""
    again = Replay(replay.folder, GAME, replay.num_frames, replay.config, 64)
    first, *others = replay.saved_values()
    again.restore({}, [first | changes, *others])


@pytest.mark.parametrize("name", ["/etc/passwd", "../chunk-00000.safetensors.zst", "chunk-00001.safetensors.zst", ""])
def test_a_chunk_has_its_own_name(tmp_path, name):
    with pytest.raises(ReplayCorrupt, match="of chunk 0: must be chunk-00000.safetensors.zst"):
        restore_forged(build(tmp_path, [[4]]), name=name)


@pytest.mark.parametrize("changes", [{"num_steps": "4"}, {"num_steps": -4}, {"num_steps": 65}, {"sha256": 1}, {"x": 1}])
def test_a_record_that_cannot_be_is_refused(tmp_path, changes):
    with pytest.raises(ReplayCorrupt, match="not the record of a chunk|the settings allow 64"):
        restore_forged(build(tmp_path, [[4]]), **changes)
    with pytest.raises(ReplayCorrupt, match="not the record"):
        empty(tmp_path).restore({}, None)


def test_a_small_file_that_would_become_gigabytes_is_not_decompressed(tmp_path):
    replay = build(tmp_path, [[4]])
    data = zstandard.ZstdCompressor().compress(bytes(1 << 24))
    assert len(data) < 2000
    (tmp_path / replay.records[0].name).write_bytes(data)
    with pytest.raises(ReplayCorrupt, match="would have 16,777,216 bytes, but at most"):
        restore_forged(replay, sha256=hashlib.sha256(data).hexdigest())


FORGED = {
    "frame": lambda chunk: chunk.frame[:, :, :, :1],
    "action": lambda chunk: chunk.action + 200,
    "reward": lambda chunk: chunk.reward + 100,
    "raw_reward": lambda chunk: chunk.raw_reward / 0,
    "terminated": lambda chunk: chunk.terminated[:2],
    "position": lambda chunk: chunk.position.flip(0),
}


@pytest.mark.parametrize("field", FORGED)
def test_a_chunk_that_no_game_can_have_made_is_refused(tmp_path, field):
    replay = build(tmp_path, [[4]])
    chunk = episode(0, 4)
    data = encode(chunk._replace(**{field: FORGED[field](chunk)}))
    (tmp_path / replay.records[0].name).write_bytes(data)
    with pytest.raises(ReplayCorrupt, match="chunk-00000.safetensors.zst (has|does not have)"):
        restore_forged(replay, sha256=hashlib.sha256(data).hexdigest())


def test_a_link_in_place_of_a_chunk_is_refused(tmp_path):
    replay = build(tmp_path / "replay", [[4]])
    chunk = tmp_path / "replay" / replay.records[0].name
    chunk.rename(tmp_path / "outside")
    chunk.symlink_to(tmp_path / "outside")
    with pytest.raises(ReplayCorrupt, match="is a link"):
        restore(replay)


@pytest.mark.parametrize(
    "position", [[-1, 0, 1, 2, 3], [-2, -1, 0, 1, 2], [0, 1, -1, 0, 1], [0, 1, 2, 3, -1], [-1, -1, 0, 1, 2]]
)
def test_a_history_is_whole_and_is_followed_by_steps(tmp_path, position):
    replay = build(tmp_path, [[4]], num_frames=2)
    chunk = episode(0, 4)
    forged = chunk._replace(position=torch.tensor(position, dtype=torch.int32))
    data = encode(forged)
    (tmp_path / replay.records[0].name).write_bytes(data)
    changes = {"sha256": hashlib.sha256(data).hexdigest(), "num_steps": forged.num_steps}
    if position in ([-1, 0, 1, 2, 3], [0, 1, -1, 0, 1]):
        restore_forged(replay, **changes)
    else:
        with pytest.raises(ReplayCorrupt, match="does not have frames of whole episodes"):
            restore_forged(replay, **changes)
