"""Thread and memory settings of this process. No torch here: they must be made before torch is imported."""

import ctypes
import os
import sys

KEPT_BYTES = 1 << 30
"""Up to this much freed memory stays with the process."""
SPIN_COUNT = "1000"
"""How often an idle OpenMP thread (GNU's) polls for work before it sleeps: about 50 microseconds. Measured on a fit
step at the paper's size, 2 threads on 2 cores: 1.19 s with 0, 1.14 s with 1,000 and 1.11 s with 10,000 polls when
alone; 3.86 s, 3.94 s and 4.72 s beside a second such process, and 12 s with 100,000."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt (malloc.h)."""


def prepare_process() -> None:
    """Let idle threads sleep and keep freed memory; the `evade` command calls this first.

    Your own program should call it before it imports torch. Thread pools that spin while they wait made a shared
    machine a hundred times slower, so threads sleep after about 50 microseconds unless OMP_WAIT_POLICY is set. Memory
    returned to the system at every update comes back as fresh pages, which took a third of PPO's time at MinAtar's
    size.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_TRIM_THRESHOLD, KEPT_BYTES)
            set_option(_MMAP_THRESHOLD, KEPT_BYTES)
