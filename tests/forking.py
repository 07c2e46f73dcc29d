"""The `evade` command in processes of their own, forked from a server that has imported everything.

A fresh interpreter spends three seconds on imports, more than a smoke run needs for training. Otherwise such a process
is like any other: it has its own memory and output, and it can be signalled and killed.
"""

import multiprocessing
import os
import subprocess
import tempfile
from pathlib import Path

_PRELOADED = [
    "evade.cli.main",
    "evade.training.algorithm",
    "evade.viewing.finish",
    "evade.viewing.display",
    "evade.envs.minatar",
    "evade.envs.atari",
    "evade.runs.tensorboard",
    "minatar.environments.breakout",
    "ale_py",
    "torch._dynamo",  # optimisers import it at their first step
    "torch._inductor.config",
    "torch.distributed.tensor",
]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(_PRELOADED)


def _run(words, environment, output):
    descriptor = os.open(output, os.O_WRONLY)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.environ.clear()
    os.environ.update(environment)
    from evade.cli.main import main

    raise SystemExit(main(words))


class EvadeProcess:
    """One started command; named after `subprocess.Popen`'s methods, which it resembles.

    Args:
        words: the command line after `evade`.
        environment: all its environment variables.
    """

    def __init__(self, words, environment):
        handle, name = tempfile.mkstemp()
        os.close(handle)
        self._output = Path(name)
        self._process = _CONTEXT.Process(target=_run, args=(words, environment, name), daemon=True)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self._process.kill()

    def communicate(self, timeout=None):
        """Wait for the end; returns all output, as `Popen.communicate` with stderr in stdout does."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("evade", timeout, self._output.read_bytes())
        output = self._output.read_text()
        self._output.unlink(missing_ok=True)
        return output, None
