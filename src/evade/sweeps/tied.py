"""`evade` in a process that does not outlive the one that started it, however that one ends. No torch here.

Its standard input is a pipe whose other end the parent holds open. The system closes it when the parent dies.
"""

import os
import runpy
import signal
import threading


def die_with_parent() -> None:
    """End this process at once when standard input ends."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True, name="tied to parent").start()


if __name__ == "__main__":
    die_with_parent()
    runpy.run_module("evade", run_name="__main__", alter_sys=True)
