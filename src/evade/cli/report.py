"""`evade report`: a static HTML report of runs."""

from pathlib import Path
from typing import Annotated

import tyro

from evade.cli.warn import warn


def report(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    verify: bool = False,
) -> int:
    """Write a static HTML report of runs: final scores, learning curves, metrics, videos, settings and cost.

    Args:
        runs: run folders; other folders are searched recursively.
        output: folder of the report.
        verify: write nothing; recompute every number of the report in that folder and fail on any difference, or if a
            run cannot be read.
    """
    # matplotlib is slow to import, and `evade --help` does not need it.
    from evade.evidence.report import verify_report, write_report
    from evade.evidence.results import read_runs

    found = read_runs(runs, warn, is_strict=verify)
    if verify:
        number = f"{len(found)} run{'' if len(found) == 1 else 's'}"
        print(f"All {verify_report(found, output):,} numbers of {output} match the {number}.")
    else:
        print(write_report(found, output, warn))
    return 0
