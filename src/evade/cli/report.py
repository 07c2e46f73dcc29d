"""`evade report`: a page that shows what runs achieved."""

from pathlib import Path
from typing import Annotated

import tyro


def report(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    verify: bool = False,
) -> int:
    """Write a static HTML report of runs: scores, curves, dreams, sigma, videos, settings and cost.

    Args:
        runs: run folders, or folders above them.
        output: the folder of the report.
        verify: write nothing; recompute every number of the report in that folder from the runs, and fail on any
            difference.
    """
    # matplotlib is slow to import, and `evade --help` needs none of it.
    from evade.evidence.report import verify_report, write_report
    from evade.evidence.results import read_runs

    found = read_runs(runs)
    if verify:
        print(f"All {verify_report(found, output):,} numbers of {output} are what {len(found)} runs say.")
    else:
        print(write_report(found, output))
    return 0
