"""The load that other processes put on the machine during a measurement."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

DISTURBING_CORES = 0.25
"""If other processes use more than this, the measurements are not reliable."""


@dataclass(frozen=True)
class Load:
    """Load of the machine during a measurement."""

    at_start: tuple[float, float, float]
    """Load averages over the last 1, 5 and 15 minutes, which include what ran before the start."""
    at_end: tuple[float, float, float]
    others: float | None
    """Mean number of cores used by other processes; None where the system has no /proc/stat."""

    @property
    def is_disturbed(self) -> bool:
        """Whether other processes used too much; judged by the load average at the start if `others` is unknown."""
        return (self.at_start[0] if self.others is None else self.others) > DISTURBING_CORES


class LoadWatch:
    """Measures the load from its construction on."""

    def __init__(self) -> None:
        self._at_start = os.getloadavg()
        self._started, self._busy, self._own = time.monotonic(), busy_seconds(), _own_seconds()

    def read(self) -> Load:
        """The load so far. Child processes count as our own once they have ended and been joined."""
        busy = busy_seconds()
        others = None
        if self._busy is not None and busy is not None:
            taken = busy - self._busy - (_own_seconds() - self._own)
            others = max(0.0, taken / (time.monotonic() - self._started))
        return Load(self._at_start, os.getloadavg(), others)


def busy_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Busy seconds of all cores since boot; None if the file does not exist."""
    if not stat.exists():
        return None
    user, nice, system, _idle, _iowait, irq, softirq = (int(word) for word in stat.read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])
