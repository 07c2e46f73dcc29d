import hashlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from episodes import build, empty, episode, restore, write
from evade.errors import ConfigError, ReplayCorrupt
from evade.game_spec import GameSpec
from evade.records import NEVER_SEEN
from evade.replay.chunk import Chunk, decode, encode, join_episodes
from evade.replay.settings import ReplayConfig
from evade.replay.store import Replay


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
        with pytest.raises(ReplayCorrupt, match=f"has {num_frames + 1} consecutive frames"):
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


def test_in_a_share_of_a_batch_each_distinct_frame_and_action_is_equally_likely(tmp_path):
    # Every frame of this replay is different, so the share is uniform, over all windows.
    replay = build(tmp_path, [[3], [5, 2]], num_frames=1, batch_size=10_000, distinct_share=0.5)
    batch = replay.batch(torch.Generator().manual_seed(0))
    seen = batch.next_frame[5000:].flatten(1).unique(dim=0, return_counts=True)
    assert len(seen[0]) == 10
    assert ((seen[1] - 500).abs() < 5 * 450**0.5).all()


@pytest.mark.parametrize("newest", [True, False])
def test_starts_can_be_sampled_by_distinct_frames(tmp_path, newest):
    game = GameSpec(channels=1, height=1, width=1, levels=256, num_actions=4)
    replay = Replay(tmp_path, game, 1, ReplayConfig(holdout=0.0, pads_starts=True), 100)
    for rare in (1, 2):
        frames = torch.tensor([0] * 9 + [rare, 9], dtype=torch.uint8).view(-1, 1, 1, 1)
        zeros = torch.zeros(11)
        ends = torch.arange(11) == 10
        position = torch.arange(11, dtype=torch.int32)
        chunk = Chunk(frames, zeros.to(torch.uint8), zeros.to(torch.int8), zeros, ends, position)
        replay.add(chunk, write)
    starts = replay.starts(6000, torch.Generator().manual_seed(0), newest=newest, by="distinct").flatten()
    values, counts = starts.unique(return_counts=True)
    assert values.tolist() == ([0, 2] if newest else [0, 1, 2])
    expected = 6000 / len(values)
    assert ((counts - expected).abs() < 5 * (expected * (1 - 1 / len(values))) ** 0.5).all()


def test_oversampling_is_measured_as_batches_show_it(tmp_path):
    # Rewards by position: 0 on arriving at 1, 1 at 2, -1 at 3 and 0 at 4, where the episode ends.
    replay = build(tmp_path, [[4, 4]], num_frames=1, batch_size=40_000, eventful_share=0.25)
    statistics = replay.statistics()
    batch = replay.batch(torch.Generator().manual_seed(0))
    sampled = torch.tensor([(batch.reward == reward).double().mean() for reward in (-1, 0, 1)])
    happened = torch.tensor([0.25, 0.5, 0.25])
    assert torch.allclose(statistics.reward_excess.double().exp() * happened, sampled, atol=5 * 0.5 / 200)
    ends = batch.terminated.double().mean()
    assert abs(statistics.end_excess - (ends.logit() - torch.tensor(0.25).logit())) < 0.1
    # By hand: the eventful quarter is one third each of reward 1, reward -1 and ends without one.
    expected = torch.tensor([0.75 / 4 + 0.25 / 3, 0.75 / 2 + 0.25 / 3, 0.75 / 4 + 0.25 / 3]) / happened
    assert torch.allclose(statistics.reward_excess.exp(), expected.float())
    assert torch.isclose(
        statistics.end_excess, (torch.tensor(0.75 / 4 + 0.25 / 3)).logit() - torch.tensor(0.25).logit()
    )


@pytest.mark.parametrize("eventful_share", [0.0, 0.25])
def test_what_never_happened_is_marked(tmp_path, eventful_share):
    # Rewards by position as above; the end at 4 comes without one.
    replay = build(tmp_path, [[4, 4]], num_frames=1, eventful_share=eventful_share)
    pays = replay.gather(replay.fit_windows).reward != 0
    paid, unpaid = replay.fit_windows[pays], replay.fit_windows[~pays]
    statistics = replay.restricted_to(paid, paid).statistics()
    assert statistics.reward_excess.tolist() == [0.0, NEVER_SEEN, 0.0]
    assert statistics.end_excess == NEVER_SEEN
    statistics = replay.restricted_to(unpaid, unpaid).statistics()
    assert statistics.reward_excess.tolist() == [NEVER_SEEN, 0.0, NEVER_SEEN]
    assert statistics.end_excess < NEVER_SEEN


def test_uniform_batches_oversample_nothing(tmp_path):
    statistics = build(tmp_path, [[4, 4]], num_frames=1).statistics()
    assert (statistics.reward_excess == 0).all()
    assert statistics.end_excess == 0
    assert statistics.num_transitions == 8


def test_a_share_of_a_batch_can_be_eventful(tmp_path):
    # With one frame, rewards are nonzero on arriving at positions 2 and 3 of each episode, and its end is position 4.
    replay = build(tmp_path, [[4, 4]], num_frames=1, batch_size=4000, eventful_share=0.25)
    batch = replay.batch(torch.Generator().manual_seed(0))
    assert len(batch.action) == 4000
    eventful = (batch.reward != 0) | batch.terminated
    assert eventful[:1000].all()
    assert abs(eventful[1000:].sum() - 2250) < 5 * (3000 * 3 / 16) ** 0.5
    seen = batch.next_frame[:1000].flatten(1).unique(dim=0, return_counts=True)
    assert len(seen[0]) == 6
    assert ((seen[1] - 1000 / 6).abs() < 5 * (1000 * 5 / 36) ** 0.5).all()


@pytest.mark.parametrize(
    ("batch_size", "share", "num_eventful"), [(64, 0.125, 8), (4, 0.25, 1), (4, 0.1, 0), (8, 0.0, 0)]
)
def test_the_share_of_eventful_transitions_is_rounded(tmp_path, batch_size, share, num_eventful):
    # One eventful transition among 99, so that uniform samples hardly ever contain it.
    replay = empty(tmp_path, num_frames=1, batch_size=batch_size, eventful_share=share)
    long = episode(0, 99, ends=False)
    replay.add(long._replace(reward=(long.position == 50).to(torch.int8)), write)
    generator = torch.Generator().manual_seed(1)
    batches = [replay.batch(generator) for _ in range(20)]
    assert all((batch.reward[:num_eventful] == 1).all() for batch in batches)
    others = torch.cat([batch.reward[num_eventful:] for batch in batches])
    assert others.float().mean() < 0.05


def test_without_events_all_of_a_batch_is_uniform(tmp_path):
    batches = []
    for share in (0.0, 0.5):
        replay = empty(tmp_path / f"{share}", num_frames=1, batch_size=50, eventful_share=share)
        uneventful = episode(0, 5, ends=False)
        replay.add(uneventful._replace(reward=torch.zeros_like(uneventful.reward)), write)
        batches.append(replay.batch(torch.Generator().manual_seed(0)).next_frame)
    assert torch.equal(*batches)


def test_held_out_events_are_not_in_batches(tmp_path):
    replay = build(tmp_path, [[12]], num_frames=1, holdout=0.25, batch_size=400, eventful_share=0.5)
    batch = replay.batch(torch.Generator().manual_seed(0))
    # Transitions from positions 9 to 11 are held out, the episode's end among them.
    assert set(batch.observation[:, -1, 0, 0, 1].tolist()) == set(range(9))
    assert not batch.terminated.any()


@pytest.mark.parametrize(("field", "value"), [("batch_size", 0), ("eventful_share", 1.0), ("holdout", -0.1)])
def test_impossible_settings_are_refused(field, value):
    with pytest.raises(ConfigError, match=f"^Invalid replay.{field} = {value}: must be "):
        ReplayConfig(**{field: value})


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
    starts = replay.starts(3000, torch.Generator().manual_seed(0), newest=newest, by="frame")
    assert starts.shape == (3000, 2, 1, 1, 2)
    places = {tuple(place) for place in starts[:, -1].flatten(1).tolist()}
    newest_places = {(10, 1)} | {(11, position) for position in range(1, 6)}
    assert places == (newest_places if newest else newest_places | {(0, position) for position in range(1, 4)})


def test_starts_by_episode_make_short_episodes_as_likely_as_long_ones(tmp_path):
    replay = build(tmp_path, [[2, 20]], num_frames=1)
    starts = replay.starts(4000, torch.Generator().manual_seed(0), newest=True, by="episode")
    share = (starts[:, -1, 0, 0, 0] == 0).float().mean().item()
    assert abs(share - 0.5) < 5 * (0.25 / 4000) ** 0.5
    assert replay.first_start().flatten().tolist() == [0, 0]


def test_each_reward_and_the_end_are_equally_likely_among_eventful_transitions(tmp_path):
    # Of 90 transitions 30 lead to a reward of -1, 30 to one of 1, and one to the end without a reward.
    replay = build(tmp_path, [[91]], num_frames=1, batch_size=4000, eventful_share=0.75)
    batch = replay.batch(torch.Generator().manual_seed(0))
    eventful = [field[:3000] for field in (batch.reward, batch.terminated)]
    for found in (eventful[0] == -1, eventful[0] == 1, eventful[1]):
        assert abs(found.sum() - 1000) < 5 * (3000 * 2 / 9) ** 0.5


def test_chunks_are_restored_from_disk_and_other_files_stay(tmp_path):
    replay = build(tmp_path, [[4], [2, 6]], batch_size=50, eventful_share=0.5)
    (tmp_path / "notes.txt").write_text("mine")
    again = restore(replay)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert again.records == replay.records
    assert again.num_steps == 12
    samples = [
        (*r.transitions(50, generator), *r.batch(generator), *r.segments(9, 2, generator, newest=True))
        for r, generator in ((r, torch.Generator().manual_seed(1)) for r in (replay, again))
    ]
    assert all(torch.equal(a, b) for a, b in zip(*samples, strict=True))


def test_a_restored_replay_goes_on_with_the_next_chunk(tmp_path):
    again = restore(build(tmp_path, [[4], [2, 6]]))
    (tmp_path / "chunk-00002.safetensors.zst").write_bytes(b"left by a crash")
    again.add(episode(20, 3), write)
    assert restore(again).num_steps == 15
    assert [record.name for record in again.records] == [f"chunk-0000{n}.safetensors.zst" for n in range(3)]
    assert [record.num_steps for record in again.records] == [4, 8, 3]
    assert again.first_start()[0, -1].flatten().tolist() == [20, 1]


def test_a_damaged_or_missing_chunk_is_named(tmp_path):
    replay = build(tmp_path, [[4]])
    path = tmp_path / replay.records[0].name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ReplayCorrupt, match="chunk-00000.safetensors.zst is damaged"):
        restore(replay)
    path.unlink()
    with pytest.raises(ReplayCorrupt, match="chunk-00000.safetensors.zst is missing"):
        restore(replay)


def test_bytes_that_are_not_a_chunk_are_refused():
    data = b"not compressed"
    with pytest.raises(ReplayCorrupt, match="x cannot be read"):
        decode(data, "x", hashlib.sha256(data).hexdigest())


def test_a_chunk_survives_encoding_and_equal_chunks_have_equal_bytes():
    chunk = join_episodes([episode(1, 5), episode(2, 3, ends=False)])
    assert chunk.num_steps == 8
    data = encode(chunk)
    decoded = decode(data, "x", hashlib.sha256(data).hexdigest())
    assert all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(chunk, decoded, strict=True))
    assert encode(decoded) == data
    assert encode(chunk._replace(reward=1 - chunk.reward)) != data


def grid_episode(frames):
    """An episode of binary frames `[L, C, H, W]` in which nothing happens."""
    position = torch.arange(len(frames), dtype=torch.int32)
    zero = torch.zeros(len(frames))
    return Chunk(frames, zero.byte(), zero.to(torch.int8), zero, zero.bool(), position)


def place(*cells, channels=3):
    """A frame of 2 x 2 cells with objects at (channel, row, column)."""
    frame = torch.zeros(channels, 2, 2, dtype=torch.uint8)
    for cell in cells:
        frame[cell] = 1
    return frame


def single_channels(replay):
    """Which channels are in a group with one object; here every group has one channel."""
    one_object = replay.statistics().one_object
    assert torch.equal(one_object, one_object.diagonal().diag())
    return one_object.diagonal().tolist()


def test_channels_with_exactly_one_object_in_every_frame_are_single(tmp_path):
    game = GameSpec(channels=3, height=2, width=2, levels=2, num_actions=2)
    replay = empty(tmp_path, num_frames=1, game=game)
    # Channel 0 always shows one object, channel 1 none in the second frame, channel 2 two in the third.
    first = torch.stack(
        [
            place((0, 0, 0), (1, 0, 1), (2, 1, 1)),
            place((0, 0, 1), (2, 1, 0)),
            place((0, 1, 1), (1, 0, 0), (2, 0, 0), (2, 0, 1)),
        ]
    )
    replay.add(grid_episode(first[:1].repeat(2, 1, 1, 1)), write)
    assert single_channels(replay) == [True, True, True]
    replay.add(grid_episode(first[:2]), write)
    assert single_channels(replay) == [True, False, True]
    replay.add(grid_episode(first), write)
    assert single_channels(replay) == [True, False, False]
    # What has once been wrong stays so.
    replay.add(grid_episode(first[:1].repeat(2, 1, 1, 1)), write)
    assert single_channels(replay) == [True, False, False]
    again = Replay(tmp_path, game, 1, replay.config, 16)
    again.restore(replay.saved_tensors(), replay.saved_values())
    assert single_channels(again) == [True, False, False]


def test_an_episodes_last_frame_counts_in_the_statistics(tmp_path):
    game = GameSpec(channels=3, height=2, width=2, levels=2, num_actions=2)
    replay = empty(tmp_path, num_frames=1, game=game)
    one, none = place((0, 0, 0), (1, 0, 0), (2, 0, 0)), place((0, 0, 0), (1, 0, 0))
    replay.add(grid_episode(torch.stack([one, one, none])), write)
    assert single_channels(replay) == [True, True, False]


def test_no_channel_of_an_image_is_single(tmp_path):
    # Sums of 1 as in a binary grid, but with 256 levels.
    game = GameSpec(channels=3, height=2, width=2, levels=256, num_actions=2)
    replay = empty(tmp_path, num_frames=1, game=game)
    assert single_channels(replay) == [False] * 3
    replay.add(grid_episode(torch.stack([place((0, 0, 0), (1, 0, 0), (2, 0, 0))] * 2)), write)
    assert single_channels(replay) == [False] * 3


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
    starts = replay.starts(500, torch.Generator().manual_seed(0), newest=True, by="frame")
    assert {tuple(f) for f in starts.flatten(1).tolist()} == {
        (10, 0, 10, 0, 10, 0),
        (10, 0, 10, 0, 10, 1),
        (10, 0, 10, 1, 10, 2),
    }


def test_segments_follow_the_newest_games_to_their_end(tmp_path):
    replay = build(tmp_path, [[9], [5, 2]], num_frames=2)
    found = replay.segments(400, 3, torch.Generator().manual_seed(0), newest=True)
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


def test_segments_leave_out_games_that_were_truncated_too_soon(tmp_path):
    replay = empty(tmp_path, num_frames=1)
    replay.add(join_episodes([episode(0, 4, ends=False), episode(1, 2, ends=False)]), write)
    found = replay.segments(50, 3, torch.Generator().manual_seed(0), newest=True)
    assert {tuple(b) for b in found.observation[:, -1].flatten(1).tolist()} == {(0, 0), (0, 1)}
    assert found.happened.all()
    assert len(replay.segments(50, 9, torch.Generator(), newest=True).observation) == 0


def test_without_long_enough_episodes_no_dream_can_start(tmp_path):
    replay = build(tmp_path, [[2, 1]], num_frames=4)
    with pytest.raises(ReplayCorrupt, match="No episode has 4 consecutive frames to start a dream from"):
        replay.starts(1, torch.Generator(), newest=True, by="frame")


def test_the_newest_transitions_are_each_given_once_without_those_held_out(tmp_path):
    replay = build(tmp_path, [[9], [4, 8]], num_frames=1, holdout=0.25)
    batches = list(replay.newest_transitions(4))
    assert [len(batch.action) for batch in batches] == [4, 4, 1]
    begins = [place for batch in batches for place in batch.observation[:, -1].flatten(1).tolist()]
    # 12 transitions of the newest chunk, of which the last three are held out.
    assert begins == [[10, at] for at in range(4)] + [[11, at] for at in range(5)]
    ends = [place for batch in batches for place in batch.next_frame.flatten(1).tolist()]
    assert ends == [[number, at + 1] for number, at in begins]


@given(
    lengths=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=2),
    num_frames=st.integers(1, 4),
    targets=st.integers(1, 4),
    pads=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_sequences_are_consecutive_steps_of_one_episode(tmp_path_factory, lengths, num_frames, targets, pads, seed):
    replay = build(
        tmp_path_factory.mktemp("replay"), lengths, num_frames, target_frames=targets, pads_starts=pads, batch_size=32
    )
    least = (1 if pads else num_frames) + targets
    if not any(length + 1 >= least for chunk in lengths for length in chunk):
        with pytest.raises(ReplayCorrupt, match=f"has {num_frames + targets} consecutive frames"):
            replay.sequences(torch.Generator())
        return
    found = replay.sequences(torch.Generator().manual_seed(seed))
    number, position = found.frame[:, :, 0, 0].long().unbind(-1)
    assert (number == number[:, :1]).all()
    last = position[:, -1:]
    # Copies of the first frame come only before it.
    assert torch.equal(position, (last + torch.arange(1 - num_frames - targets, 1)).clamp_min(0))
    is_step = position[:, 1:] > position[:, :-1]
    assert pads or is_step.all()
    assert is_step[:, num_frames - 1 :].all()
    assert torch.equal(found.action, (position[:, :-1] % 4) * is_step)
    assert torch.equal(found.reward, (position[:, 1:] % 3 - 1) * is_step)
    length = torch.tensor([lengths[n // 10][n % 10] for n in number[:, 0].tolist()]).unsqueeze(1)
    assert torch.equal(found.terminated, position[:, 1:] == length)


def test_a_sequence_is_eventful_if_any_of_its_targets_is(tmp_path):
    replay = build(tmp_path, [[40]], num_frames=1, target_frames=3, batch_size=64, eventful_share=0.5)
    rewards = [torch.tensor([at + 1, at + 2, at + 3]) % 3 - 1 for at in range(38)]  # as `episode` gives them
    windows = replay.fit_windows
    expected = [[at for at, found in enumerate(rewards) if (found == value).any()] for value in (-1, 1)]
    # No window has an end without a reward: the one that ends has rewards, too.
    [(share, masks)] = replay._fitted.eventful_parts()
    assert share == 0.5
    assert [windows[mask].tolist() for mask in masks] == expected
