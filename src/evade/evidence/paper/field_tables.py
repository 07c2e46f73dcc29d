"""Tables of other methods: published aggregates and costs."""

from evade.evidence.published import read_anchor_costs, read_anchors
from evade.evidence.stats import Column, Table
from evade.evidence.stats.tables import Cell


def anchors_table() -> Table:
    """Tabulate published aggregates, one row per method and source."""
    metrics = {
        "mean_hns": "Mean HNS",
        "median_hns": "Median",
        "iqm": "IQM",
        "iqm_of_means": "IQM of means",
        "optimality_gap": "Opt. gap",
        "num_superhuman": ">= human",
    }
    grouped: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for anchor in read_anchors():
        key = (anchor.label, anchor.runs_per_game, anchor.certainty, anchor.source)
        grouped.setdefault(key, {})[anchor.metric] = anchor.value
    rows: list[list[Cell]] = []
    for (name, runs, certainty, source), values in grouped.items():
        counted = int(values["num_superhuman"]) if "num_superhuman" in values else None
        numbers = [values.get(metric) for metric in list(metrics)[:-1]]
        rows.append([name, runs or None, *numbers, counted, certainty, source])
    return Table(
        "Other methods on Atari 100K",
        [
            Column("Method", "method"),
            Column("Runs", "runs_per_game"),
            *(Column(heading, name) for name, heading in metrics.items()),
            Column("Certainty", "certainty"),
            Column("Source", "source"),
        ],
        rows,
        ["Evaluation protocols differ between methods. Recalled values are not verified."],
    )


def costs_table() -> Table:
    """Tabulate the cost of one run, as its source states it."""
    names = {anchor.method: anchor.label for anchor in read_anchors()}
    return Table(
        "Cost of one run",
        [
            Column("Method", "method"),
            Column("Cost", "cost"),
            Column("Certainty", "certainty"),
            Column("Source", "source"),
        ],
        [[names[row.method], row.cost, row.certainty, row.source] for row in read_anchor_costs()],
    )
