"""Journals that were damaged: what can be cut back or saved is, the rest is named."""

import errno
import json

import pytest

from evade.errors import JournalDamaged
from evade.runs.folder import RunFolder
from evade.runs.journal import Extent, read_journal
from evade.runs.logbook import Logbook, check_committed, recover_timing, salvage_metrics
from evade.runs.tensorboard import RecordWriter


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path)
    folder.create()
    return folder


@pytest.fixture
def committed(folder):
    """What a checkpoint would hold of three metrics and one score."""
    logbook = Logbook(folder, {}, pytest.fail)
    for step in range(3):
        logbook.add_metrics(1, "fit", step, {"fit/loss": 0.5})
    logbook.add_scores(1, "score", 64, [{"episode": 0, "score": 2.0, "length": 7}])
    extents = logbook.commit()
    logbook.close()
    return extents


def test_journals_fit_their_checkpoint_until_a_byte_changes(folder, committed):
    check_committed(folder, committed)
    folder.scores.write_text(folder.scores.read_text().replace("2.0", "9.0"))
    with pytest.raises(JournalDamaged, match="scores.jsonl does not fit the checkpoint.*they were changed"):
        check_committed(folder, committed)


def test_a_journal_of_an_earlier_checkpoint_has_a_length_only(folder, committed):
    check_committed(folder, {name: Extent(extent.size, None) for name, extent in committed.items()})


def test_metrics_that_are_left_are_saved_and_the_damaged_file_is_kept(folder, committed):
    whole = folder.metrics.read_bytes()
    lines = whole.splitlines(keepends=True)
    folder.metrics.write_bytes(lines[0] + b"\xff" + lines[1] + lines[2] + b"uncommitted\n")
    notes = []
    extent = salvage_metrics(folder, committed["metrics"], notes.append)
    assert folder.metrics.read_bytes()[: len(lines[0])] == lines[0]
    assert extent.size == folder.metrics.stat().st_size
    assert (folder.path / "metrics.damaged-1.jsonl").read_bytes().endswith(b"uncommitted\n")
    assert "lines cannot be read" in notes[0]
    Logbook(folder, {**committed, "metrics": extent}, pytest.fail).close()


@pytest.mark.parametrize("damage", [b'{"iter', b"\0\0\0\0", b"\0\0\n"])
def test_a_torn_tail_of_the_times_is_cut_off(folder, damage):
    record = json.dumps({"iteration": 1, "phase": "fit", "seconds": 1.5}).encode() + b"\n"
    folder.timing.write_bytes(record + damage)
    notes = []
    assert recover_timing(folder.timing, notes.append).size == len(record)
    assert folder.timing.read_bytes() == record
    assert len(notes) == 1
    recover_timing(folder.timing, pytest.fail)


def test_a_journal_that_is_a_link_is_refused_and_its_target_stays(folder, tmp_path_factory):
    target = tmp_path_factory.mktemp("outside") / "theirs"
    target.write_text("theirs")
    folder.timing.symlink_to(target)
    with pytest.raises(Exception, match="timing.jsonl is a link"):
        Logbook(folder, {}, pytest.fail)
    assert target.read_text() == "theirs"


def test_a_full_disk_under_tensorboard_is_a_warning(folder, monkeypatch):
    notes = []
    logbook = Logbook(folder, {}, notes.append)

    def fail(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RecordWriter, "write", fail)
    for step in range(2):
        logbook.add_metrics(1, "fit", step, {"fit/loss": 0.5})
    logbook.close()
    assert len(list(read_journal(folder.metrics))) == 2
    assert len(notes) == 1
    assert "No space left on device" in notes[0]
    Logbook(folder, {}, notes.append).close()
    assert len(notes) == 2
