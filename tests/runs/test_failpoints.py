import signal
import subprocess
import sys

import pytest

from evade.errors import FailpointError
from evade.runs.failpoints import reach

PROGRAM = """
from evade.runs.failpoints import reach
for number in range(3):
    reach("other")
    reach("fit:update")
    print(number, flush=True)
"""


def run(setting, monkeypatch):
    monkeypatch.setenv("EVADE_FAILPOINT", setting)
    return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_process_dies_at_that_time_at_that_point(monkeypatch, count):
    result = run(f"fit:update:{count}", monkeypatch)
    assert result.returncode == -signal.SIGKILL
    assert result.stdout.split() == [str(number) for number in range(count - 1)]


@pytest.mark.parametrize("setting", ["fit:update:4", "fit:1", "update:1"])
def test_other_points_and_later_counts_do_nothing(monkeypatch, setting):
    assert run(setting, monkeypatch).returncode == 0


def test_without_the_variable_nothing_happens(monkeypatch):
    monkeypatch.delenv("EVADE_FAILPOINT", raising=False)
    reach("fit:update")


@pytest.mark.parametrize("setting", ["", "fit", "fit:", ":1", "fit:0", "fit:-1", "fit:one", "fit:1.5", "fit:²"])
def test_a_setting_that_is_not_understood_is_an_error(monkeypatch, setting):
    monkeypatch.setenv("EVADE_FAILPOINT", setting)
    with pytest.raises(FailpointError, match="name:count"):
        reach("fit")
