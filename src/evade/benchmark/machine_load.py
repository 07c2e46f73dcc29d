"""Who else uses the machine while something is measured."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

DISTURBING_CORES = 0.25
"""Others that keep so much of a core busy make the numbers doubtful."""


@dataclass(frozen=True)
class Load:
    """The machine during a measurement."""

    at_start: tuple[float, float, float]
    """Load averages over 1, 5 and 15 minutes; the first one counts what ran just before, too."""
    at_end: tuple[float, float, float]
    others: float | None
    """Cores that other processes kept busy, on average; None where the system does not tell."""

    @property
    def is_disturbed(self) -> bool:
        """Whether others worked enough to matter; judged by the load before the start where nothing better is known."""
        return (self.at_start[0] if self.others is None else self.others) > DISTURBING_CORES


class LoadWatch:
    """Watches from its making on."""

    def __init__(self) -> None:
        self._at_start = os.getloadavg()
        self._started, self._busy, self._own = time.monotonic(), busy_seconds(), _own_seconds()

    def read(self) -> Load:
        """The load so far. Child processes count as our own once they have ended and been waited for."""
        busy = busy_seconds()
        others = None
        if self._busy is not None and busy is not None:
            taken = busy - self._busy - (_own_seconds() - self._own)
            others = max(0.0, taken / (time.monotonic() - self._started))
        return Load(self._at_start, os.getloadavg(), others)


def busy_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Seconds that all cores together have worked since the machine started; None where there is no such file."""
    if not stat.exists():
        return None
    user, nice, system, _idle, _iowait, irq, softirq = (int(word) for word in stat.read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])
