import pytest
import torch

from episodes import build, write
from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.replay.chunk import Chunk
from evade.replay.events import EventIndex, sort_changes
from evade.replay.settings import ReplayConfig
from evade.replay.store import Replay


def grid(*rows):
    """A frame of two channels of four cells each."""
    return torch.tensor(rows, dtype=torch.uint8).view(2, 1, 4)


def test_a_change_is_a_channel_with_more_or_fewer_objects():
    before, moved = grid([1, 0, 0, 0], [1, 1, 0, 0]), grid([0, 1, 0, 0], [0, 0, 1, 1])
    more, fewer = grid([1, 1, 0, 0], [1, 1, 0, 0]), grid([0, 0, 0, 0], [1, 1, 1, 0])
    found = sort_changes(torch.stack([torch.stack([before, after]) for after in (moved, more, fewer)]))
    assert {kind: mask.nonzero().flatten().tolist() for kind, mask in found.items()} == {
        (0, 1): [1],
        (0, -1): [2],
        (1, 1): [2],
        (1, -1): [],
    }


def test_changes_of_all_steps_of_a_sequence_count():
    still, more = grid([1, 0, 0, 0], [0, 0, 0, 0]), grid([1, 1, 0, 0], [0, 0, 0, 0])
    found = sort_changes(torch.stack([still, more, still]).unsqueeze(0))
    assert found[0, 1].tolist() == [True]
    assert found[0, -1].tolist() == [True]


def test_events_are_equally_likely_and_so_are_the_transitions_of_each():
    events = EventIndex()
    assert not events
    events.add(torch.arange(10), {"rare": torch.arange(10) == 7, "common": torch.arange(10) < 4})
    events.add(torch.tensor([20]), {"rare": torch.tensor([True]), "never": torch.tensor([False])})
    sampled = events.sample(16_000, torch.Generator().manual_seed(0))
    values, counts = sampled.unique(return_counts=True)
    assert values.tolist() == [0, 1, 2, 3, 7, 20]
    expected = torch.tensor([2000.0] * 4 + [4000.0] * 2)
    assert ((counts - expected).abs() < 5 * (expected * (1 - expected / 16_000)).sqrt()).all()


def switch_replay(folder, **settings):
    """A thousand steps in which a switch goes on and off once, with a reward when it goes off, and a lamp flickers."""
    frames = torch.zeros(1001, 2, 2, 2, dtype=torch.uint8)
    frames[500, 0, 1, 1] = 1
    position = torch.arange(1001, dtype=torch.int32)
    frames[:, 1, 0, 0] = (position % 2).to(torch.uint8)
    reward = (position == 501).to(torch.int8)
    chunk = Chunk(frames, position.to(torch.uint8) % 3, reward, reward.float(), position == 2000, position)
    game = GameSpec(channels=2, height=2, width=2, levels=2, num_actions=3)
    replay = Replay(folder, game, 1, ReplayConfig(holdout=0.0, **settings), 2000)
    replay.add(chunk, write)
    return replay


def sample_batches(replay, count):
    """Rewards, and whether the switch goes on, of a number of batches: `[count, batch]` each."""
    generator = torch.Generator().manual_seed(0)
    batches = [replay.batch(generator) for _ in range(count)]
    goes_on = [batch.next_frame[:, 0].flatten(1).any(1) for batch in batches]
    return torch.stack([batch.reward for batch in batches]), torch.stack(goes_on)


@pytest.mark.parametrize(("changes_share", "num_slots"), [(0.25, 2), (0.0625, 1), (0.0, 0)])
def test_a_batch_has_room_for_each_kind_of_rare_change(tmp_path, changes_share, num_slots):
    """The switch has two events, each rarer than once per batch of 16; the lamp changes in every step."""
    reward, goes_on = sample_batches(switch_replay(tmp_path, batch_size=16, changes_share=changes_share), 2000)
    rare = goes_on | (reward > 0)
    assert rare[:, :num_slots].all()
    assert rare[:, num_slots:].double().mean() < 5 * 2 / 1000
    if num_slots:
        total = 2000 * num_slots
        assert abs(goes_on[:, :num_slots].sum() - total / 2) < 5 * (total / 4) ** 0.5


def test_oversampled_changes_count_as_oversampled_rewards(tmp_path):
    replay = switch_replay(tmp_path, batch_size=16, changes_share=0.25)
    reward, _ = sample_batches(replay, 2000)
    expected = 14 / 16 / 1000 + 2 / 16 / 2
    assert abs(reward.double().mean() - expected) < 5 * (expected / reward.numel()) ** 0.5
    assert replay.statistics().reward_excess[-1].exp().item() == pytest.approx(expected * 1000, rel=1e-5)


def test_changes_are_as_oversampled_as_batches_show_them(tmp_path):
    replay = switch_replay(tmp_path, batch_size=16, changes_share=0.25)
    _, goes_on = sample_batches(replay, 2000)
    # By hand: the switch goes on in one of 1,000 transitions, and in half of two of sixteen slots.
    expected = torch.tensor(14 / 16 / 1000 + 2 / 16 / 2, dtype=torch.float64)
    assert abs(goes_on.double().mean() - expected) < 5 * (expected / goes_on.numel()) ** 0.5
    excess = replay.statistics().change_excess
    by_hand = (expected.logit() - torch.tensor(1 / 1000, dtype=torch.float64).logit()).item()
    assert excess[:, 0].tolist() == [pytest.approx(by_hand), pytest.approx(by_hand)]
    # The lamp goes on and off in every second step, which is not rare.
    assert excess[:, 1].abs().max() < 0.02


def test_without_a_change_the_share_is_uniform(tmp_path):
    replay = switch_replay(tmp_path, batch_size=64, changes_share=0.25)
    still = replay.fit_windows[:100]
    quiet = replay.restricted_to(still, still[:0])
    reward, goes_on = sample_batches(quiet, 10)
    assert not goes_on.any()
    assert not reward.any()
    assert quiet.statistics().reward_excess[1] == 0
    assert (quiet.statistics().change_excess[:, 0] == 0).all()


def test_changes_need_cells_that_are_on_or_off(tmp_path):
    with pytest.raises(
        ConfigError, match=r"replay.changes_share = 0.25: must be 0, because this game's cells have 256"
    ):
        build(tmp_path, [[4]], changes_share=0.25)


def test_shares_leave_room_for_each_other():
    with pytest.raises(ConfigError, match=r"replay.distinct_share = 0.5: must leave room .* together 0.625"):
        ReplayConfig(eventful_share=0.125, changes_share=0.5, distinct_share=0.5)
