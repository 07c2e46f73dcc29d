"""One command against one folder: how it ended, and whether it touched anything outside."""

import contextlib
import io
import os
import signal
import warnings
from pathlib import Path

from evade.cli.main import main
from forking import EvadeProcess

TIME_LIMIT = 120
"""Seconds of processor time are far fewer; a command that takes longer on a busy machine hangs."""


class Hang(BaseException):
    """A command took too long."""


def run_here(words):
    """Run a command in this process; returns (exit code or None, output, findings)."""
    output = io.StringIO()

    def give_up(number, frame):
        raise Hang

    former = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TIME_LIMIT)
    try:
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            code = main(words)
        output.writelines(f"Warning: {each.message}\n" for each in warned)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    except Hang:
        return None, output.getvalue(), {"hang": " ".join(words)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None, output.getvalue(), {"traceback": f"{type(error).__name__}: {error}"}
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
    return code, output.getvalue(), {}


def run_apart(words, environment=None):
    """The same in a process of its own, which may die of a signal."""
    process = EvadeProcess(words, os.environ | {"OMP_WAIT_POLICY": "PASSIVE"} | (environment or {}))
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
    except Exception:
        process.kill()
        process.communicate()
        return None, "", {"hang": " ".join(words)}
    found = {}
    if process.returncode < 0:
        found["signal"] = f"signal {-process.returncode}"
    if "Traceback (most recent call last)" in output:
        found["traceback"] = output
    return process.returncode, output, found


def tree(folder):
    """Every name below a folder with its content, links as where they lead."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        kind = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = kind
    return found
