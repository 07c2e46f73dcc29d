"""The entry point: picks the verb, and turns a user's mistake into one line instead of a traceback."""

import sys
from collections.abc import Callable, Sequence

import tyro

from evade import __version__
from evade.cli.benchmark import benchmark
from evade.cli.compare import compare
from evade.cli.doctor import doctor
from evade.cli.evaluate import evaluate
from evade.cli.explain import explain
from evade.cli.futures import futures
from evade.cli.index import index
from evade.cli.paper import paper
from evade.cli.posterior import posterior
from evade.cli.report import report
from evade.cli.runs import runs
from evade.cli.train import resume, train
from evade.errors import EvadeError
from evade.runtime.process import prepare_process

MISTAKE = 2
"""Exit code for a user's mistake; the message says what to do."""

DESCRIPTION = f"evade {__version__}: event-based variational Thompson sampling for model-based reinforcement learning."

VERBS: dict[str, Callable[..., int]] = {
    "train": train,
    "resume": resume,
    "evaluate": evaluate,
    "runs": runs,
    "compare": compare,
    "index": index,
    "explain": explain,
    "paper": paper,
    "posterior": posterior,
    "futures": futures,
    "report": report,
    "benchmark": benchmark,
    "doctor": doctor,
}

OWN_WORDS: dict[str, Callable[[Sequence[str]], int]] = {"train": train, "resume": resume}
"""Verbs that read the rest of the line themselves: their settings depend on the preset or the run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    prepare_process()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and words[0] in OWN_WORDS:
            return OWN_WORDS[words[0]](words[1:])
        code: int = tyro.extras.subcommand_cli_from_dict(VERBS, prog="evade", description=DESCRIPTION, args=words)
        return code
    except (EvadeError, ValueError) as error:
        if not _is_mistake(error):
            raise
        print(f"evade: {error}", file=sys.stderr)
        return MISTAKE


def _is_mistake(error: Exception) -> bool:
    # The layers' own error is imported only when there is one to look at: `evade --help` does not wait for torch.
    from evade.layers import LayerError

    return isinstance(error, EvadeError | LayerError)
