"""`evade index`: all runs in one SQLite file."""

from pathlib import Path


def index(runs_dir: Path = Path("runs"), database: Path | None = None) -> int:
    """Build, or build again, a SQLite index (tables runs, scores, metrics) of all runs below a folder.

    Args:
        runs_dir: where to look.
        database: the file to write; index.sqlite in the runs folder if not given.
    """
    from evade.evidence.results import build_index

    database = database or runs_dir / "index.sqlite"
    num_runs = build_index(runs_dir, database)
    print(f"{database}: {num_runs} run{'' if num_runs == 1 else 's'}")
    return 0
