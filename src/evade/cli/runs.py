"""`evade runs`: a table of all runs with status and score."""

from pathlib import Path

import tyro

from evade.cli.warn import visible, warn
from evade.errors import EvadeError
from evade.runs.documents import read_config, read_status
from evade.runs.folder import RunFolder
from evade.runs.lock import is_held


def runs(runs: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),)) -> int:
    """List runs with their status and score. An interrupted run can be resumed.

    Args:
        runs: run folders; other folders are searched recursively.
    """
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from evade.runs.folder import find_runs

    folders = list(dict.fromkeys(folder for path in runs for folder in find_runs(path, warn)))
    if not folders:
        print(f"There are no runs in {', '.join(map(str, runs))}. `evade train --runs-dir {runs[0]}` creates one.")
        return 0
    table = Table(Column("run", overflow="fold"), "status", "iteration", "real steps", "score", "random")
    for folder in folders:
        # As text, because a name may look like rich's markup.
        name = Text(visible(_name(folder.path, runs)))
        try:
            table.add_row(name, *_describe(folder))
        except EvadeError as error:
            table.add_row(name, "unreadable", "-", "-", "-", "-")
            warn(str(error))
    Console().print(table)
    return 0


def _name(run: Path, given: tuple[Path, ...]) -> str:
    """The run's path inside the one folder that was given; the whole path if several were."""
    return str(run if len(given) > 1 or run == given[0] else run.relative_to(given[0]))


def _describe(folder: RunFolder) -> list[str]:
    """Status, iteration, real steps, score and random play of a run, from its checked status."""
    folder.check()
    read_config(folder)
    word, standing, score, _ = read_status(folder)
    if word == "running" and not is_held(folder.lock):
        word = "interrupted"
    found = [word, f"{standing.get('iteration', '-')}/{standing.get('iterations', '-')}"]
    found.append(str(standing.get("real_steps", "-")))
    if word != "finished" or score is None:
        return [*found, "-", "-"]
    return [*found, f"{score['mean']:.2f} ± {score['standard_error']:.2f}", f"{score['random']:.2f}"]
