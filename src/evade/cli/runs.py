"""`evade runs`: a table of all runs with status and score."""

from pathlib import Path
from typing import Any

import tyro


def runs(runs: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),)) -> int:
    """List runs with their status and score.

    Args:
        runs: run folders; other folders are searched recursively.
    """
    from rich.console import Console
    from rich.table import Column, Table

    from evade.runs.files import read_json
    from evade.runs.folder import find_runs

    folders = list(dict.fromkeys(folder for path in runs for folder in find_runs(path)))
    if not folders:
        print(f"There are no runs in {', '.join(map(str, runs))}. `evade train --runs-dir {runs[0]}` creates one.")
        return 0
    table = Table(Column("run", overflow="fold"), "status", "iteration", "real steps", "score", "random")
    for folder in folders:
        status: dict[str, Any] = read_json(folder.status) if folder.status.exists() else {}
        score = status.get("score") if status.get("status") == "finished" else None
        table.add_row(
            _name(folder.path, runs),
            status.get("status", "new"),
            f"{status.get('iteration', '-')}/{status.get('iterations', '-')}",
            str(status.get("real_steps", "-")),
            f"{score['mean']:.2f} ± {score['standard_error']:.2f}" if score else "-",
            f"{score['random']:.2f}" if score else "-",
        )
    Console().print(table)
    return 0


def _name(run: Path, given: tuple[Path, ...]) -> str:
    """The run's path inside the one folder that was given; the whole path if several were."""
    return str(run if len(given) > 1 or run == given[0] else run.relative_to(given[0]))
