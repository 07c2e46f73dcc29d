"""`evade paper`: the paper's tables and figures, recomputed from its runs."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

from evade.evidence.paper import TableName, build_tables
from evade.evidence.stats import TableFormat
from evade.evidence.stats.tables import render_tables


def paper(
    table: Annotated[
        tuple[TableName, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(help_behavior_hint="(default: all; may be repeated)"),
    ] = (),
    format: TableFormat = "text",
    figure: Path | None = None,
    figure_format: Literal["png", "pdf", "svg"] = "png",
    resamples: int = 20_000,
    seed: int = 0,
) -> int:
    """Print the paper's tables, recomputed from its runs next to the printed values, and all disagreements.

    Args:
        table: table to print.
        format: output format of the tables; csv holds exactly one table.
        figure: folder for the figures; tables are then printed only if chosen with --table.
        figure_format: file format of the figures.
        resamples: bootstrap resamples of the intervals in tables.
        seed: seed of the bootstrap.
    """
    if figure is not None:
        # matplotlib is slow to import, and tables do not need it.
        from evade.evidence.paper.figures import save_figures

        for path in save_figures(figure, figure_format, seed):
            print(path)
        if not table:
            return 0
    names = table or get_args(TableName)
    print(render_tables(dict(zip(names, build_tables(names, resamples, seed), strict=True)), format))
    return 0
