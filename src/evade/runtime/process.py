"""How this process uses the machine. No torch here: the first thing must be said before torch is loaded."""

import ctypes
import os
import sys

KEPT_BYTES = 1 << 30
SPIN_COUNT = "1000"
"""How often an idle thread of GNU's OpenMP looks for work before it sleeps: some 50 microseconds. A fit step at the
paper's size with 2 threads on 2 cores took 1.19 s with 0, 1.14 s with 1,000 and 1.11 s with 10,000 alone, and 3.86 s,
3.94 s and 4.72 s beside a second one, which 100,000 made 12 s."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt, from its malloc.h."""


def prepare_process() -> None:
    """Let idle threads sleep, and keep freed memory; the `evade` command calls it before anything else.

    A program of one's own calls it before it imports torch. A thread pool that spins while it waits made a shared
    machine a hundred times slower: unless the environment has an OMP_WAIT_POLICY, threads sleep after a moment. Memory
    that goes back to the system at every update comes back as fresh pages: a third of PPO's time at MinAtar's size.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_TRIM_THRESHOLD, KEPT_BYTES)
            set_option(_MMAP_THRESHOLD, KEPT_BYTES)
