"""The tables of `evade paper` by name."""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from evade.evidence.paper.comparison_tables import ablation_table, headline_table, intervals_table, significance_table
from evade.evidence.paper.disagreements import find_disagreements
from evade.evidence.paper.field_tables import anchors_table, costs_table
from evade.evidence.paper.score_tables import ablation_games_table, means_table, runs_table
from evade.evidence.stats import Column, Table

TableName = Literal[
    "headline",
    "intervals",
    "test",
    "ablation",
    "ablation-games",
    "runs",
    "means",
    "anchors",
    "costs",
    "disagreements",
]
"""The tables of `evade paper`, in printing order."""

Builder: TypeAlias = Callable[[int, int], Table]
"""A function from the number of bootstrap resamples and their seed to a table."""


def build_tables(names: Iterable[TableName], num_resamples: int = 20_000, seed: int = 0) -> list[Table]:
    """Build the named tables; resamples and seed are for the intervals."""
    return [TABLES[name](num_resamples, seed) for name in names]


def disagreements_table() -> Table:
    """Tabulate the statements of the paper that its own data contradict."""
    return Table(
        "Disagreements between the paper and its own data",
        [
            Column("Where", "where"),
            Column("Printed", "printed"),
            Column("Recomputed", "recomputed"),
            Column("Explanation", "explanation"),
        ],
        [list(row) for row in find_disagreements()],
    )


def _without_resamples(build: Callable[[], Table]) -> Builder:
    return lambda num_resamples, seed: build()


TABLES: dict[TableName, Builder] = {
    "headline": _without_resamples(headline_table),
    "intervals": intervals_table,
    "test": significance_table,
    "ablation": _without_resamples(ablation_table),
    "ablation-games": _without_resamples(ablation_games_table),
    "runs": _without_resamples(runs_table),
    "means": _without_resamples(means_table),
    "anchors": _without_resamples(anchors_table),
    "costs": _without_resamples(costs_table),
    "disagreements": _without_resamples(disagreements_table),
}
"""The builder of each table."""
