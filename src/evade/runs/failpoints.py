"""Named points at which a test can have the process killed. No-ops unless EVADE_FAILPOINT is set. No torch here."""

import os
import signal
from collections import Counter

from evade.errors import FailpointError

VARIABLE = "EVADE_FAILPOINT"
"""Environment variable `name:count`: die at the count-th time `reach(name)` is called, e.g. `save:manifest:2`."""

_times_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Kill this process with SIGKILL if EVADE_FAILPOINT names this point and the count is reached."""
    setting = os.environ.get(VARIABLE)
    if setting is None:
        return
    chosen, count = _parse(setting)
    _times_reached[name] += 1
    if name == chosen and _times_reached[name] == count:
        os.kill(os.getpid(), signal.SIGKILL)


def _parse(setting: str) -> tuple[str, int]:
    name, _, count = setting.rpartition(":")
    if not name or not (count.isascii() and count.isdigit()) or int(count) == 0:
        raise FailpointError(
            f"{VARIABLE} = {setting!r} is not understood: write name:count with a count of at least 1, "
            f"for instance save:manifest:1, or unset it."
        )
    return name, int(count)
