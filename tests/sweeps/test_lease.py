import json
import os
import threading
import time

import pytest

from evade.errors import RunLocked
from evade.sweeps.lease import Lease

TERM = 1.5


def newest(folder):
    return json.loads(max(folder.iterdir()).read_text())


def test_a_lease_is_taken_at_once_renewed_and_let_go(tmp_path):
    with Lease(tmp_path / "lease", TERM) as lease:
        first = newest(tmp_path / "lease")
        assert (first["pid"], first["free"]) == (os.getpid(), False)
        time.sleep(TERM)
        lease.check()
        assert newest(tmp_path / "lease")["count"] > first["count"]
    assert newest(tmp_path / "lease")["free"] is True
    started = time.monotonic()
    with Lease(tmp_path / "lease", TERM):
        assert time.monotonic() - started < TERM / 2
    assert len(list((tmp_path / "lease").iterdir())) == 1


def test_a_lease_that_is_renewed_is_refused_with_its_owner(tmp_path):
    with Lease(tmp_path / "lease", TERM), pytest.raises(RunLocked, match=f"process {os.getpid()}"):
        Lease(tmp_path / "lease", TERM).__enter__()


def test_a_lease_that_is_no_longer_renewed_lapses_and_its_owner_notices(tmp_path):
    dead = Lease(tmp_path / "lease", TERM).__enter__()
    dead._ending.set()  # as if its machine had stopped
    started = time.monotonic()
    with Lease(tmp_path / "lease", TERM) as successor:
        assert time.monotonic() - started >= TERM
        with pytest.raises(RunLocked, match="could not be renewed in time"):
            dead.check()
        dead._ending.clear()
        dead._thread.join()
        back = threading.Thread(target=dead._keep_renewing, daemon=True)
        back.start()
        time.sleep(TERM / 3)
        with pytest.raises(RunLocked, match="another process took the lease"):
            dead.check()
        dead.__exit__()
        back.join()
        successor.check()
        assert newest(tmp_path / "lease")["free"] is False


def test_an_owner_that_died_before_its_first_word_lapses_too(tmp_path):
    (tmp_path / "lease").mkdir()
    (tmp_path / "lease" / "00000004").touch()
    with Lease(tmp_path / "lease", TERM):
        assert [path.name for path in (tmp_path / "lease").iterdir()] == ["00000005"]


def test_of_two_that_find_the_same_lapsed_lease_only_one_gets_it(tmp_path):
    (tmp_path / "lease").mkdir()
    (tmp_path / "lease" / "00000001").touch()
    first, second = (Lease(tmp_path / "lease", TERM) for _ in range(2))
    seen = first._look()
    assert first._claim(seen, unchanged=2 * TERM)
    assert not second._claim(seen, unchanged=2 * TERM)


def test_of_many_that_wait_for_a_lapsed_lease_one_gets_it_at_a_time(tmp_path):
    (tmp_path / "lease").mkdir()
    (tmp_path / "lease" / "00000001").touch()
    holding, most, refused = [], [], []

    def work():
        try:
            with Lease(tmp_path / "lease", TERM) as lease:
                holding.append(lease)
                most.append(len(holding))
                time.sleep(0.1)
                lease.check()
                holding.remove(lease)
        except RunLocked:
            refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) + len(refused) == 6
    assert most
    assert set(most) == {1}
