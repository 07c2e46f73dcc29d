"""How this process uses the machine. No torch here: the first thing must be said before torch is loaded."""

import ctypes
import os
import sys

KEPT_BYTES = 1 << 30
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt, from its malloc.h."""


def prepare_process() -> None:
    """Let idle threads sleep, and keep freed memory; the `evade` command calls it before anything else.

    A program of one's own calls it before it imports torch. A thread pool that spins while it waits made a shared
    machine a hundred times slower; OMP_WAIT_POLICY is PASSIVE unless the environment already has another value. Memory
    that goes back to the system at every update comes back as fresh pages: a third of PPO's time at MinAtar's size.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_TRIM_THRESHOLD, KEPT_BYTES)
            set_option(_MMAP_THRESHOLD, KEPT_BYTES)
