import os

import pytest

from evade.benchmark.machine_load import Load, LoadWatch, busy_seconds

IDLE = (0.0, 0.0, 0.0)


def test_busy_time_excludes_idle_and_waiting(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 30 99999 88888 4 6 7 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    assert busy_seconds(stat) == pytest.approx(160 / os.sysconf("SC_CLK_TCK"))


def test_busy_time_is_unknown_without_proc_stat(tmp_path):
    assert busy_seconds(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("load", "is_disturbed"),
    [
        (Load((3.0, 3.0, 3.0), IDLE, others=0.1), False),
        (Load(IDLE, IDLE, others=0.9), True),
        (Load((1.2, 0.0, 0.0), IDLE, others=None), True),
        (Load(IDLE, (2.0, 2.0, 2.0), others=None), False),
    ],
)
def test_when_the_numbers_are_not_reliable(load, is_disturbed):
    assert load.is_disturbed is is_disturbed


def test_our_own_processes_do_not_count_as_others(monkeypatch):
    busy, own, clock = iter([100.0, 110.0]), iter([(7.0, 0, 0, 0, 0), (8.0, 1.0, 2.0, 2.0, 0)]), iter([50.0, 60.0])
    monkeypatch.setattr("evade.benchmark.machine_load.busy_seconds", lambda: next(busy))
    monkeypatch.setattr("evade.benchmark.machine_load.os.times", lambda: next(own))
    monkeypatch.setattr("evade.benchmark.machine_load.time.monotonic", lambda: next(clock))
    # Ten seconds of ten were busy on some core, six of them ours.
    assert LoadWatch().read().others == pytest.approx(0.4)
