import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from platform import node

import pytest

from evade.errors import RunLocked, StorageError, UnreadableFile
from evade.runs.lock import RunLock, is_held

HOLD = """
import os, sys, time
from pathlib import Path
from evade.runs.lock import RunLock
with RunLock(Path(sys.argv[1])):
    {inside}
    time.sleep(60)
"""
SAY = "print(os.getpid(), flush=True)"
FORK = """if os.fork() == 0: print(os.getpid(), flush=True)"""


@contextmanager
def holding(path, inside=SAY):
    """A process that holds the lock, and the pid it printed."""
    command = [sys.executable, "-c", HOLD.format(inside=inside), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def test_the_file_names_the_holder_while_it_is_held_and_nobody_after(tmp_path):
    with RunLock(tmp_path / "lock"):
        holder = json.loads((tmp_path / "lock").read_text())
        assert holder["pid"] == os.getpid()
        assert holder["host"] == node()
        assert holder["started"].startswith("20")
    assert (tmp_path / "lock").read_bytes() == b""


def test_a_second_process_is_refused_with_the_holders_pid_and_host(tmp_path):
    lock = tmp_path / "lock"
    with holding(lock) as (process, pid):
        assert pid == process.pid
        with pytest.raises(RunLocked, match=rf"process {pid} on {node()}") as caught, RunLock(lock):
            pytest.fail("two processes hold one lock")
        assert str(tmp_path) in str(caught.value)
        assert json.loads(lock.read_text())["pid"] == pid


def test_a_killed_holders_lock_is_free_at_once(tmp_path):
    lock = tmp_path / "lock"
    with holding(lock) as (process, pid):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert json.loads(lock.read_text())["pid"] == pid
        with RunLock(lock):
            assert json.loads(lock.read_text())["pid"] == os.getpid()


def test_a_forked_child_does_not_keep_a_dead_holders_lock(tmp_path):
    lock = tmp_path / "lock"
    with holding(lock, FORK) as (process, child):
        with pytest.raises(RunLocked), RunLock(lock):
            pytest.fail("the child let go of its parent's lock")
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(child, 0)
        with RunLock(lock):
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_leaves_the_block_changes_nothing(tmp_path):
    lock = tmp_path / "lock"
    leave = """child = os.fork()
    if not child: sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    print(os.getpid(), flush=True)"""
    with holding(lock, leave) as (_, pid), pytest.raises(RunLocked, match=str(pid)), RunLock(lock):
        pytest.fail("the child let go of its parent's lock")


def test_the_same_process_is_refused_too_and_may_come_back_later(tmp_path):
    lock = RunLock(tmp_path / "lock")
    with lock, pytest.raises(RunLocked, match=str(os.getpid())), RunLock(tmp_path / "lock"):
        pytest.fail("two holders")
    with lock:
        pass


def test_a_lock_that_cannot_be_made_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="lock"), RunLock(tmp_path / "missing" / "lock"):
        pytest.fail("no lock was taken")


def test_a_link_in_place_of_the_lock_is_refused_and_its_target_is_not_emptied(tmp_path):
    (tmp_path / "theirs").write_text("theirs")
    for name, make in (("link", Path.symlink_to), ("hard", Path.hardlink_to)):
        make(tmp_path / name, tmp_path / "theirs")
        with pytest.raises(UnreadableFile, match=f"{name} is a"), RunLock(tmp_path / name):
            pass
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_whether_a_lock_is_held_can_be_asked(tmp_path):
    assert not is_held(tmp_path / "lock")
    with RunLock(tmp_path / "lock"):
        assert is_held(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")
