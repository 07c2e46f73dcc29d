"""The entry point: picks the verb, and turns a user's mistake into one line instead of a traceback."""

import sys
from collections.abc import Callable, Sequence

import tyro

from evade import __version__
from evade.cli.doctor import doctor
from evade.cli.paper import paper
from evade.errors import EvadeError

MISTAKE = 2
"""Exit code for anything the user can mend; the message says how."""

DESCRIPTION = f"evade {__version__}: event-based variational Thompson sampling for model-based reinforcement learning."

VERBS: dict[str, Callable[..., int]] = {"doctor": doctor, "paper": paper}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    try:
        code: int = tyro.extras.subcommand_cli_from_dict(VERBS, prog="evade", description=DESCRIPTION, args=arguments)
        return code
    except EvadeError as error:
        print(f"evade: {error}", file=sys.stderr)
        return MISTAKE
