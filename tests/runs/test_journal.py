import os
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import JournalDamaged, NotStorable, StorageError, UnreadableFile
from evade.runs.journal import NOTHING, Extent, Journal, read_journal

RECORDS = st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.floats(-1, 1)), max_size=6)


def write(path, records, committed=NOTHING):
    with closing(Journal(path, committed)) as journal:
        for record in records:
            journal.append(record)
        return journal.commit()


@given(before=RECORDS, lost=RECORDS, after=RECORDS, torn=st.integers(0, 500))
def test_cutting_to_the_committed_length_loses_nothing_and_doubles_nothing(before, lost, after, torn):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        committed = write(path, before)
        assert committed.size == path.stat().st_size
        whole = write(path, lost, committed)
        os.truncate(path, max(committed.size, whole.size - torn))
        seen = list(read_journal(path))
        assert seen == [*before, *lost][: len(seen)]
        assert len(seen) >= len(before)
        write(path, after, committed)
        assert list(read_journal(path)) == [*before, *after]


PROGRAM = """
import json, sys
from pathlib import Path
from evade.runs.failpoints import reach
from evade.runs.journal import Extent, Journal
journal = Journal(Path(sys.argv[1]), Extent(*json.loads(sys.argv[2])))
for step in range(int(sys.argv[3]), 6):
    journal.append({"step": step})
    reach("appended")
    if step % 2:
        print(json.dumps(journal.commit(), separators=(",", ":")), step + 1, flush=True)
"""


@pytest.mark.parametrize("count", range(1, 7))
def test_killed_between_append_and_commit_then_resumed_each_step_is_there_once(tmp_path, monkeypatch, count):
    path = tmp_path / "metrics.jsonl"

    def run(committed, step):
        command = [sys.executable, "-c", PROGRAM, path, committed, step]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    monkeypatch.setenv("EVADE_FAILPOINT", f"appended:{count}")
    killed = run("[0,null]", "0")
    assert killed.returncode == -signal.SIGKILL
    assert [record["step"] for record in read_journal(path)] == list(range(count))
    monkeypatch.delenv("EVADE_FAILPOINT")
    committed, step = killed.stdout.split()[-2:] or ("[0,null]", "0")
    assert run(committed, step).returncode == 0
    assert [record["step"] for record in read_journal(path)] == list(range(6))


def test_a_record_is_seen_by_others_before_it_is_committed(tmp_path):
    with closing(Journal(tmp_path / "scores.jsonl")) as journal:
        journal.append({"score": 1})
        assert list(read_journal(tmp_path / "scores.jsonl")) == [{"score": 1}]


def test_commit_forces_the_file_to_the_disk(tmp_path, disk_calls):
    path = tmp_path / "metrics.jsonl"
    with closing(Journal(path)) as journal:
        assert disk_calls == [("fsync", str(tmp_path), None)]
        journal.append({"step": 1})
        assert len(disk_calls) == 1
        assert journal.commit().size == 12
        assert disk_calls[1:] == [("fsync", str(path), 12)]


def test_a_journal_shorter_than_its_checkpoint_says_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with pytest.raises(JournalDamaged, match="metrics.jsonl"):
        Journal(path, Extent(5, None))
    assert not path.exists()
    committed = write(path, [{"step": 1}, {"step": 2}])
    data = path.read_bytes()
    size = committed.size
    for wrong, finding in (
        (Extent(size + 1, None), f"it has {size}"),
        (Extent(size - 1, None), "no record ends there"),
        (Extent(size, "0" * 64), "they were changed"),
    ):
        with pytest.raises(JournalDamaged, match=finding) as caught:
            Journal(path, wrong)
        assert "metrics.jsonl" in str(caught.value)
        assert path.read_bytes() == data


@pytest.mark.parametrize("committed", [1, 10])
def test_an_empty_journal_with_something_committed_is_refused(tmp_path, committed):
    (tmp_path / "metrics.jsonl").touch()
    with pytest.raises(JournalDamaged, match="it has 0"):
        Journal(tmp_path / "metrics.jsonl", Extent(committed, None))


def test_only_a_torn_last_line_is_tolerated(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"st')
    assert list(read_journal(path)) == [{"step": 1}, {"step": 2}]
    for second in (b'{"st', b"[2]", b'{"step": NaN}', b"\0\0\0", b""):
        path.write_bytes(b'{"step": 1}\n' + second + b'\n{"step": 3}\n')
        with pytest.raises(JournalDamaged, match=r"line 2 of .*metrics.jsonl"):
            list(read_journal(path))
    with pytest.raises(UnreadableFile, match="absent.jsonl"):
        list(read_journal(tmp_path / "absent.jsonl"))


def test_a_record_that_is_not_json_is_refused_and_leaves_no_trace(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with closing(Journal(path)) as journal:
        with pytest.raises(NotStorable, match="None where there is no number"):
            journal.append({"loss": float("nan")})
        journal.append({"loss": None})
    assert list(read_journal(path)) == [{"loss": None}]


def test_a_full_disk_leaves_whole_records_and_writing_goes_on_when_there_is_room(small_disk):
    path = small_disk.path / "metrics.jsonl"
    written = []

    def append():
        journal.append({"step": len(written), "text": "x" * 900})
        written.append(len(written))

    def append_for_ever():
        while True:
            append()

    with closing(Journal(path)) as journal:
        with small_disk.room(8192), pytest.raises(StorageError, match="metrics.jsonl could not be written"):
            append_for_ever()
        assert len(written) >= 4
        assert path.read_bytes().endswith(b"}\n")
        append()
        assert journal.commit().size == path.stat().st_size
    assert [record["step"] for record in read_journal(path)] == written
