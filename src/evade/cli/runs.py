"""`evade runs`: a table of all runs with status and score."""

from pathlib import Path
from typing import Any


def runs(runs_dir: Path = Path("runs")) -> int:
    """List all runs in a folder with their status and score.

    Args:
        runs_dir: folder to search recursively.
    """
    from rich.console import Console
    from rich.table import Column, Table

    from evade.runs.files import read_json
    from evade.runs.folder import find_runs

    folders = find_runs(runs_dir)
    if not folders:
        print(f"There are no runs in {runs_dir}. `evade train --runs-dir {runs_dir}` creates one.")
        return 0
    table = Table(Column("run", overflow="fold"), "status", "iteration", "real steps", "score", "random")
    for folder in folders:
        status: dict[str, Any] = read_json(folder.status) if folder.status.exists() else {}
        score = status.get("score") if status.get("status") == "finished" else None
        table.add_row(
            str(folder.path.relative_to(runs_dir)),
            status.get("status", "new"),
            f"{status.get('iteration', '-')}/{status.get('iterations', '-')}",
            str(status.get("real_steps", "-")),
            f"{score['mean']:.2f} ± {score['standard_error']:.2f}" if score else "-",
            f"{score['random']:.2f}" if score else "-",
        )
    Console().print(table)
    return 0
