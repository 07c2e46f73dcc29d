"""`evade compare`: tables and figures of our runs by variant and game."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from evade.cli.warn import warn
from evade.evidence.results.compare import compare_runs
from evade.evidence.results.comparison_tables import ComparisonTable, build_comparison_tables
from evade.evidence.results.read import read_runs
from evade.evidence.stats import TableFormat
from evade.evidence.stats.tables import render_tables


def compare(
    runs: tyro.conf.Positional[tuple[Path, ...]] = (Path("runs"),),
    baseline: str | None = None,
    table: Annotated[
        tuple[ComparisonTable, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(help_behavior_hint="(default: all; may be repeated)"),
    ] = (),
    format: TableFormat = "text",
    figure: Path | None = None,
    figure_format: Literal["png", "pdf", "svg"] = "png",
    resamples: int = 20_000,
    seed: int = 0,
) -> int:
    """Compare finished runs: scores per game, aggregates with intervals, each variant against a baseline.

    Args:
        runs: run folders; other folders are searched recursively.
        baseline: a variant among the runs, or a method of the paper such as paper:simple30 (Atari only).
        table: table to print.
        format: output format of the tables; csv holds exactly one table.
        figure: folder for the figures; tables are then printed only if chosen with --table.
        figure_format: file format of the figures.
        resamples: bootstrap resamples of the intervals in tables.
        seed: seed of the bootstrap.
    """
    comparison = compare_runs(read_runs(runs, warn), baseline)
    wants_tables = figure is None or bool(table)
    tables = build_comparison_tables(comparison, table, resamples, seed) if wants_tables else {}
    text = render_tables(tables, format) if tables else ""
    if format == "csv" or "games" not in tables:
        # Only the table of games prints these notes, and csv has no notes.
        for note in comparison.notes:
            warn(note)
    if figure is not None:
        # matplotlib is slow to import, and tables do not need it.
        from evade.evidence.figures.comparison import save_comparison_figures

        for path in save_comparison_figures(comparison, figure, figure_format, seed):
            print(path)
    if text:
        print(text)
    return 0
