"""Printed numbers of the paper as table columns and cells, next to the recomputed ones."""

from evade.evidence.paper.recompute import ABLATION_TABLE, printed
from evade.evidence.stats import Column, Estimate, Record


def beside(heading: str, name: str, digits: int = 3) -> list[Column]:
    """Make a recomputed column and the printed one to its right."""
    return [Column(heading, name, digits), Column("printed", f"{name}_printed", digits)]


def printed_record(method: str, table: str) -> Record | None:
    """A method's printed wins and losses; None if the table prints none."""
    wins, losses = printed(method, "wins", table), printed(method, "losses", table)
    return None if wins is None or losses is None else Record(int(wins), int(losses), 0)


def printed_estimate(method: str, game: str) -> Estimate:
    """The printed mean and standard error of one game of the ablation."""
    values = [printed(method, metric, ABLATION_TABLE, game) for metric in ("mean", "standard_error")]
    return Estimate(*(float(value) for value in values if value is not None))
