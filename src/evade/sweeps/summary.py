"""What a sweep comes to: a CSV file of final scores, the comparison, and the report. No torch here."""

from collections.abc import Callable, Sequence

from evade.errors import EvadeError
from evade.evidence.results import build_comparison_tables, compare_runs, read_run, write_scores
from evade.evidence.results.comparability import label_runs
from evade.evidence.results.read import RunResult
from evade.evidence.stats.tables import render_tables
from evade.runs.files import write_atomically
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import SweepFolder
from evade.sweeps.standing import Standing

PLAIN = "simple"
"""The variant without event layers, which the others are compared with."""


def summarise(
    folder: SweepFolder,
    standings: dict[PlannedRun, Standing],
    say: Callable[[str], None],
    *,
    baseline: str | None = None,
    with_report: bool = True,
) -> None:
    """Write scores, comparison and report of all finished runs; what cannot be written is said, nothing else stops.

    Args:
        folder: of the sweep.
        standings: of all planned runs.
        say: shows a message to people.
        baseline: as for `compare_runs`; `simple` if it is in the plan beside others.
        with_report: whether to write the report, which takes about a second for each run.
    """
    done = [run for run, standing in standings.items() if standing.is_done(run)]
    results = _read(folder, done, say)
    if not results:
        say("No run is finished: there is nothing to compare.")
        return
    chosen = baseline or _choose_baseline(results)
    _attempt(say, "scores", lambda: _write_scores(folder, results))
    _attempt(say, "comparison", lambda: _write_comparison(folder, results, chosen, say))
    if with_report:
        _attempt(say, "report", lambda: _write_report(folder, results, say))


def _read(folder: SweepFolder, done: Sequence[PlannedRun], say: Callable[[str], None]) -> list[RunResult]:
    results = []
    for run in done:
        try:
            results.append(read_run(folder.runs_dir / run.folder))
        except EvadeError as error:
            say(f"left out: {error}")
    return results


def _attempt(say: Callable[[str], None], name: str, work: Callable[[], str]) -> None:
    try:
        say(f"{name}: {work()}")
    except EvadeError as error:
        say(f"{name}: {error}")


def _choose_baseline(results: Sequence[RunResult]) -> str | None:
    labels = set(label_runs(results))
    return PLAIN if PLAIN in labels and len(labels) > 1 else None


def _write_scores(folder: SweepFolder, results: Sequence[RunResult]) -> str:
    write_scores(results, folder.scores)
    return str(folder.scores)


def _write_comparison(
    folder: SweepFolder, results: Sequence[RunResult], baseline: str | None, say: Callable[[str], None]
) -> str:
    tables = build_comparison_tables(compare_runs(results, baseline))
    say(render_tables(tables, "text"))
    write_atomically(folder.comparison, render_tables(tables, "markdown").encode())
    return str(folder.comparison)


def _write_report(folder: SweepFolder, results: Sequence[RunResult], say: Callable[[str], None]) -> str:
    # matplotlib is slow to import.
    from evade.evidence.report import write_report

    return str(write_report(results, folder.report, say))
