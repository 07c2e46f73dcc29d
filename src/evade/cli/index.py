"""`evade index`: a SQLite index of all runs."""

from pathlib import Path

import tyro

from evade.cli.warn import warn


def index(runs: tyro.conf.Positional[Path] = Path("runs"), database: Path | None = None) -> int:
    """Build or rebuild a SQLite index (tables runs, scores, metrics) of all runs in a folder.

    Args:
        runs: folder to search recursively.
        database: file to write; index.sqlite in that folder if not given.
    """
    from evade.evidence.results import build_index

    database = database or runs / "index.sqlite"
    num_runs = build_index(runs, database, warn)
    print(f"{database}: {num_runs} run{'' if num_runs == 1 else 's'}")
    return 0
