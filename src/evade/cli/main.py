"""The entry point: picks the verb, and turns a user's mistake into one line instead of a traceback."""

import os
import sys
from collections.abc import Callable, Sequence

import tyro

from evade import __version__
from evade.cli.benchmark import benchmark
from evade.cli.compare import compare
from evade.cli.doctor import doctor
from evade.cli.evaluate import evaluate
from evade.cli.explain import explain
from evade.cli.figures import figures
from evade.cli.futures import futures
from evade.cli.index import index
from evade.cli.look import look
from evade.cli.paper import paper
from evade.cli.posterior import posterior
from evade.cli.report import report
from evade.cli.runs import runs
from evade.cli.sweep import sweep
from evade.cli.train import resume, train
from evade.cli.warn import warn
from evade.errors import EvadeError
from evade.runtime.process import prepare_process

MISTAKE = 2
"""Exit code for a user's mistake; the message says what to do."""
READER_GONE = 141
"""Exit code when nobody reads the output any more, as in `evade paper | head -1`; the shell's own for SIGPIPE."""

DESCRIPTION = f"evade {__version__}: event-based variational Thompson sampling for model-based reinforcement learning."

VERBS: dict[str, Callable[..., int]] = {
    "train": train,
    "resume": resume,
    "sweep": sweep,
    "evaluate": evaluate,
    "runs": runs,
    "compare": compare,
    "index": index,
    "explain": explain,
    "look": look,
    "paper": paper,
    "posterior": posterior,
    "figures": figures,
    "futures": futures,
    "report": report,
    "benchmark": benchmark,
    "doctor": doctor,
}

OWN_WORDS: dict[str, Callable[[Sequence[str]], int]] = {"train": train, "resume": resume, "sweep": sweep}
"""Verbs that read the rest of the line themselves: their settings depend on the preset or the run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    prepare_process()
    try:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            # Now, because at the interpreter's end a closed pipe can no longer be caught.
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE


def _run(words: list[str]) -> int:
    try:
        if words == ["--version"]:
            print(f"evade {__version__}")
            return 0
        if words and words[0] in OWN_WORDS:
            return OWN_WORDS[words[0]](words[1:])
        code: int = tyro.extras.subcommand_cli_from_dict(VERBS, prog="evade", description=DESCRIPTION, args=words)
        return code
    except (EvadeError, ValueError) as error:
        if not _is_mistake(error):
            raise
        warn(str(error))
        return MISTAKE
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        # A file or folder that was named by the user, or the disk behind it.
        warn(f"{error.filename or 'a file'} cannot be used ({error.strerror or error}): fix this and retry.")
        return MISTAKE


def _is_mistake(error: Exception) -> bool:
    # The layers' own error is imported only when there is one to look at: `evade --help` does not wait for torch.
    from evade.layers import LayerError

    return isinstance(error, EvadeError | LayerError)
