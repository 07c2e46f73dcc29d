"""The options of a benchmark."""

from dataclasses import dataclass
from typing import Literal

from evade.checks import require, require_choice
from evade.config.run import MAX_THREADS

Size = Literal["paper", "minatar"]
"""The networks to measure: those of preset `atari100k` or `minatar`."""

PRESET_OF: dict[Size, str] = {"paper": "atari100k", "minatar": "minatar"}
REPEATS, QUICK_REPEATS = 5, 1
"""Default number of rounds."""


@dataclass(frozen=True)
class Options:
    """What to measure."""

    size: str = "all"
    """`paper`, `minatar` or `all`."""
    repeats: int | None = None
    """Rounds; None for 5, or 1 if quick."""
    threads: int = 0
    """Threads of one operation; 0 for the preset's number."""
    quick: bool = False
    """Smallest sizes only, as a test that it works; not for publication."""
    compile: bool = True
    """Measure compiled dream steps too; never if quick."""

    def __post_init__(self) -> None:
        require_choice("size", self.size, ("all", *PRESET_OF))
        require(self.repeats is None or self.repeats >= 1, "repeats", self.repeats, "must be at least 1")
        require(0 <= self.threads <= MAX_THREADS, "threads", self.threads, f"must be 0 to {MAX_THREADS}")

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes to measure, in order."""
        return tuple(size for size in PRESET_OF if self.size in ("all", size))

    @property
    def rounds(self) -> int:
        """Number of rounds, each with one sample of every case."""
        return self.repeats or (QUICK_REPEATS if self.quick else REPEATS)

    @property
    def compiles(self) -> bool:
        """Whether compiled dream steps are measured."""
        return self.compile and not self.quick

    @property
    def window_seconds(self) -> float:
        """Duration of one sample of the dream-and-PPO loop."""
        return 0.3 if self.quick else 3.0

    @property
    def matrix_sizes(self) -> tuple[int, ...]:
        """Rows of the square matrices whose products give the peak."""
        return (512, 1024) if self.quick else (1024, 2048, 4096)
