import hashlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.config import GameSpec
from evade.errors import ReplayCorrupt
from evade.replay import Chunk, ChunkRecord, Replay
from evade.replay.chunk import decode, encode, join_episodes

GAME = GameSpec(channels=1, height=1, width=2, levels=256, num_actions=4)


def episode(number, length, ends=True):
    """Frames show (episode, position), actions and rewards tell where they belong."""
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


def build(folder, lengths, num_frames=2, holdout=0.0, capacity=4, **more):
    folder.mkdir(parents=True, exist_ok=True)
    replay = Replay(folder, GAME, num_frames, holdout, capacity, **more)
    for number, chunk in enumerate(lengths):
        pieces = [episode(10 * number + index, length) for index, length in enumerate(chunk)]
        replay.add(join_episodes(pieces), write)
    return replay


@given(
    lengths=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=3),
    num_frames=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
@settings(max_examples=50, deadline=None)
def test_a_window_never_crosses_an_episode(tmp_path_factory, lengths, num_frames, seed):
    replay = build(tmp_path_factory.mktemp("replay"), lengths, num_frames)
    assert replay.num_steps == sum(sum(chunk) for chunk in lengths)
    if max(max(chunk) for chunk in lengths) < num_frames:
        with pytest.raises(ReplayCorrupt, match=f"has {num_frames + 1} frames in a row"):
            replay.transitions(1, torch.Generator())
        return
    batch = replay.transitions(64, torch.Generator().manual_seed(seed))
    frames = torch.cat([batch.observation, batch.next_frame.unsqueeze(1)], dim=1).flatten(2).long()
    assert (frames[:, :, 0] == frames[:, :1, 0]).all()
    assert (frames[:, 1:, 1] - frames[:, :-1, 1] == 1).all()
    before, after = frames[:, -2, 1], frames[:, -1, 1]
    assert torch.equal(batch.action, before % 4)
    assert torch.equal(batch.reward, after % 3 - 1)


def test_all_windows_are_equally_likely(tmp_path):
    replay = build(tmp_path, [[3], [5, 2]])
    batch = replay.transitions(14_000, torch.Generator().manual_seed(0))
    seen = {}
    for number, position in batch.observation[:, -1].flatten(1).tolist():
        seen[number, position] = seen.get((number, position), 0) + 1
    assert seen.keys() == {(0, 1), (0, 2), (10, 1), (10, 2), (10, 3), (10, 4), (11, 1)}
    assert all(abs(count - 2000) < 5 * (2000 * 6 / 7) ** 0.5 for count in seen.values())


def test_a_share_of_a_batch_can_be_eventful(tmp_path):
    # With one frame, rewards are nonzero on arriving at positions 2 and 3 of each episode, and its end is position 4.
    replay = build(tmp_path, [[4, 4]], num_frames=1)
    batch = replay.transitions(4000, torch.Generator().manual_seed(0), eventful_share=0.25)
    eventful = (batch.reward != 0) | batch.terminated
    assert eventful[:1000].all()
    assert abs(eventful[1000:].sum() - 2250) < 5 * (3000 * 3 / 16) ** 0.5
    seen = batch.next_frame[:1000].flatten(1).unique(dim=0, return_counts=True)
    assert len(seen[0]) == 6
    assert ((seen[1] - 1000 / 6).abs() < 5 * (1000 * 5 / 36) ** 0.5).all()


def test_without_events_a_batch_is_drawn_as_ever(tmp_path):
    replay = Replay(tmp_path, GAME, 1, 0.0, 4)
    still = episode(0, 5, ends=False)
    replay.add(still._replace(reward=torch.zeros_like(still.reward)), write)
    drawn = [
        replay.transitions(50, torch.Generator().manual_seed(0), eventful_share=share).next_frame for share in (0, 0.5)
    ]
    assert torch.equal(*drawn)


def test_the_end_of_every_chunk_can_be_held_out(tmp_path):
    replay = build(tmp_path, [[12], [12]], num_frames=1, holdout=0.25)
    generator = torch.Generator().manual_seed(0)
    fitted = {tuple(f) for f in replay.transitions(500, generator).observation.flatten(1).tolist()}
    held = {tuple(f) for f in replay.transitions(500, generator, held_out=True).observation.flatten(1).tolist()}
    assert fitted == {(number, position) for number in (0, 10) for position in range(9)}
    assert held == {(number, position) for number in (0, 10) for position in range(9, 12)}


@pytest.mark.parametrize("newest", [True, False])
def test_starts_by_frame_and_never_at_an_end(tmp_path, newest):
    replay = build(tmp_path, [[4], [2, 6]])
    starts = replay.starts(3000, torch.Generator().manual_seed(0), newest=newest, by_episode=False)
    assert starts.shape == (3000, 2, 1, 1, 2)
    places = {tuple(place) for place in starts[:, -1].flatten(1).tolist()}
    newest_places = {(10, 1)} | {(11, position) for position in range(1, 6)}
    assert places == (newest_places if newest else newest_places | {(0, position) for position in range(1, 4)})


def test_starts_by_episode_make_short_episodes_as_likely_as_long_ones(tmp_path):
    replay = build(tmp_path, [[2, 20]], num_frames=1)
    starts = replay.starts(4000, torch.Generator().manual_seed(0), newest=True, by_episode=True)
    share = (starts[:, -1, 0, 0, 0] == 0).float().mean().item()
    assert abs(share - 0.5) < 5 * (0.25 / 4000) ** 0.5
    assert replay.first_start().flatten().tolist() == [0, 0]


def test_chunks_come_back_from_disk_and_strays_are_removed(tmp_path):
    replay = build(tmp_path, [[4], [2, 6]])
    (tmp_path / "chunk-00002.safetensors.zst").write_bytes(b"left by a crash")
    again = Replay(tmp_path, GAME, 2, 0.0, 1)
    again.restore(replay.records)
    assert sorted(path.name for path in tmp_path.iterdir()) == [record.name for record in replay.records]
    assert again.records == replay.records
    first, second = (r.transitions(50, torch.Generator().manual_seed(1)) for r in (replay, again))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_damaged_or_missing_chunk_is_named(tmp_path):
    replay = build(tmp_path, [[4]])
    path = tmp_path / replay.records[0].name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ReplayCorrupt, match="chunk-00000.safetensors.zst is not the file that was written"):
        Replay(tmp_path, GAME, 2, 0.0, 1).restore(replay.records)
    path.unlink()
    with pytest.raises(ReplayCorrupt, match="chunk-00000.safetensors.zst is missing"):
        Replay(tmp_path, GAME, 2, 0.0, 1).restore(replay.records)


def test_bytes_that_are_no_chunk_are_refused():
    data = b"not compressed"
    with pytest.raises(ReplayCorrupt, match="x cannot be read"):
        decode(data, "x", hashlib.sha256(data).hexdigest())


def test_equal_chunks_are_equal_bytes():
    assert encode(episode(1, 5)) == encode(episode(1, 5))
    assert ChunkRecord("a", "b", 5) == ChunkRecord("a", "b", 5)
    assert join_episodes([episode(1, 5), episode(2, 3)]).num_steps == 8


def test_padded_starts_fill_the_stack_with_the_first_frame_as_the_game_does(tmp_path):
    replay = build(tmp_path, [[1, 2], [3]], num_frames=3, pads_starts=True)
    batch = replay.transitions(500, torch.Generator().manual_seed(0))
    seen = {tuple(f) for f in torch.cat([batch.observation, batch.next_frame.unsqueeze(1)], 1).flatten(1).tolist()}
    expected = {
        (number, max(at - 2, 0), number, max(at - 1, 0), number, at, number, at + 1)
        for number, length in ((0, 1), (1, 2), (10, 3))
        for at in range(length)
    }
    assert seen == expected
    starts = replay.starts(500, torch.Generator().manual_seed(0), newest=True, by_episode=False)
    assert {tuple(f) for f in starts.flatten(1).tolist()} == {
        (10, 0, 10, 0, 10, 0),
        (10, 0, 10, 0, 10, 1),
        (10, 0, 10, 1, 10, 2),
    }


def test_stretches_follow_the_newest_games_to_their_end(tmp_path):
    replay = build(tmp_path, [[9], [5, 2]], num_frames=2)
    found = replay.newest_stretches(400, 3, torch.Generator().manual_seed(0))
    begins = found.observation[:, -1].flatten(1).tolist()
    assert {tuple(b) for b in begins} == {(10, 1), (10, 2), (10, 3), (10, 4), (11, 1)}
    for index, (number, at) in enumerate(begins):
        left = {10: 5, 11: 2}[number] - at
        assert found.happened[:, index].tolist() == [step < left for step in range(3)]
        for step in range(min(3, left)):
            assert found.action[step, index] == (at + step) % 4
            assert found.frame[step, index].flatten().tolist() == [number, at + step + 1]
            assert found.reward[step, index] == (at + step + 1) % 3 - 1
            assert found.terminated[step, index] == (step == left - 1)
        assert (found.reward[left:, index] == 0).all()


def test_stretches_leave_out_games_that_were_cut_off_too_soon(tmp_path):
    tmp_path.mkdir(exist_ok=True)
    replay = Replay(tmp_path, GAME, 1, 0.0, 4)
    replay.add(join_episodes([episode(0, 4, ends=False), episode(1, 2, ends=False)]), write)
    found = replay.newest_stretches(50, 3, torch.Generator().manual_seed(0))
    assert {tuple(b) for b in found.observation[:, -1].flatten(1).tolist()} == {(0, 0), (0, 1)}
    assert found.happened.all()
    assert len(replay.newest_stretches(50, 9, torch.Generator()).observation) == 0
