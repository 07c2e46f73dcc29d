"""`evade paper`: the paper's tables and figures, recomputed from its own runs."""

import json
from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

from evade.errors import TableError
from evade.paper import TableName, build_tables
from evade.stats import TableFormat
from evade.stats.tables import to_plain


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
        from evade.paper.figures import save_figures

        for path in save_figures(figure, figure_format, seed):
            print(path)
        if not table:
            return 0
    names = table or get_args(TableName)
    if format == "csv" and len(names) != 1:
        raise TableError(f"csv holds one table and {len(names)} were asked for: name one, as in --table headline.")
    tables = build_tables(names, resamples, seed)
    if format == "json":
        plain = {name: to_plain(built) for name, built in zip(names, tables, strict=True)}
        print(json.dumps(plain, indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(built.render(format) for built in tables))
    return 0
