"""`evade paper`: the paper's tables and figures, recomputed from its own runs."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

from evade.evidence.paper import TableName, build_tables
from evade.evidence.stats import TableFormat
from evade.evidence.stats.tables import render_tables


def paper(
    table: Annotated[tuple[TableName, ...], tyro.conf.arg(help_behavior_hint="(default: all)")] = (),
    format: TableFormat = "text",
    figure: Path | None = None,
    figure_format: Literal["png", "pdf", "svg"] = "png",
    resamples: int = 20_000,
    seed: int = 0,
) -> int:
    """Print the paper's tables, recomputed from its runs beside the printed values, and where the two disagree.

    Args:
        table: the tables to print.
        format: how to print them; csv needs exactly one table.
        figure: a folder to write the figures into; then no tables are printed unless they are named.
        figure_format: the kind of file of the figures.
        resamples: bootstrap resamples behind each interval of a table.
        seed: seed of the bootstrap.
    """
    if figure is not None:
        # matplotlib is slow to import, and most calls only want tables.
        from evade.evidence.paper.figures import save_figures

        for path in save_figures(figure, figure_format, seed):
            print(path)
        if not table:
            return 0
    names = table or get_args(TableName)
    print(render_tables(dict(zip(names, build_tables(names, resamples, seed), strict=True)), format))
    return 0
