"""The paper's comparisons over all games: headline, intervals, significance, ablation."""

from evade.evidence.paper.beside import beside, printed_record
from evade.evidence.paper.recompute import (
    ABLATION,
    ABLATION_TABLE,
    HEADLINE,
    HEADLINE_TABLE,
    TEXT,
    ablation_scores,
    has_runs,
    headline_scores,
    label,
    printed,
    record,
)
from evade.evidence.stats import (
    Column,
    Table,
    aggregate,
    best_of_counts,
    bootstrap_intervals,
    improvement_interval,
    iqm,
    mean,
    median,
    optimality_gap,
    paired_t_test,
    probability_of_improvement,
)
from evade.evidence.stats.tables import Cell, interval_columns


def headline_table() -> Table:
    """Table `tab:EVADE_sota`, with the IQM from the text."""
    scores = headline_scores()
    best = best_of_counts(scores)
    rows: list[list[Cell]] = []
    for method in HEADLINE:
        rows.append(
            [
                label(method),
                mean(scores[method]),
                printed(method, "mean_hns", HEADLINE_TABLE),
                median(scores[method]),
                printed(method, "median_hns", HEADLINE_TABLE),
                iqm(scores[method]) if has_runs(method) else None,
                printed(method, "iqm", TEXT),
                None if method == "evade" else record(method, HEADLINE_TABLE),
                printed_record(method, HEADLINE_TABLE),
                best[method],
                printed(method, "best_of", HEADLINE_TABLE),
            ]
        )
    return Table(
        "Atari 100K, 26 games: human-normalised scores (HNS)",
        [
            Column("Method", "method"),
            *beside("Mean HNS", "mean_hns"),
            *beside("Median HNS", "median_hns"),
            *beside("IQM", "iqm"),
            *beside("Vs EVaDE (W/L)", "vs_evade"),
            *beside("Best", "best_of"),
        ],
        rows,
        ["IQM needs single runs; the paper prints only means of the other methods."],
    )


def intervals_table(num_resamples: int, seed: int) -> Table:
    """Tabulate all aggregates of the methods with runs, with intervals, which the paper does not print."""
    rows: list[list[Cell]] = []
    for games, scores in ((26, headline_scores()), (12, ablation_scores())):
        for method in filter(has_runs, scores):
            interval = bootstrap_intervals(scores[method], num_resamples=num_resamples, seed=seed)
            cells = [cell for metric in interval for cell in (aggregate(scores[method], metric), interval[metric])]
            rows.append([label(method), games, 5, *cells])
    names = {"Mean HNS": "mean_hns", "Median": "median_hns", "IQM": "iqm", "Optimality gap": "optimality_gap"}
    return Table(
        "Aggregates with 95 % intervals",
        [
            Column("Method", "method"),
            Column("Games", "num_games"),
            Column("Runs", "runs_per_game"),
            *interval_columns(names),
        ],
        rows,
        [f"Stratified bootstrap over runs, {num_resamples} resamples, seed {seed}. The paper prints no intervals."],
    )


def significance_table(num_resamples: int, seed: int) -> Table:
    """Tabulate the paired t-test of section Results, with effect size and probability of improvement."""
    evade, simple = headline_scores()["evade"], headline_scores()["simple30"]
    test = paired_t_test(evade, simple)
    better = improvement_interval(evade, simple, num_resamples=num_resamples, seed=seed)
    rows: list[list[Cell]] = [
        ["t", test.statistic, None, None],
        ["degrees of freedom", test.degrees_of_freedom, None, None],
        ["p, one-sided", test.p_one_sided, None, printed("evade", "p_value", TEXT)],
        ["p, two-sided", test.p_two_sided, None, None],
        ["mean difference in HNS", test.mean_difference, test.interval, None],
        ["effect size (paired Cohen's d)", test.effect_size, None, None],
        ["probability of improvement", probability_of_improvement(evade, simple), better, None],
    ]
    return Table(
        "EVaDE-SimPLe against SimPLe(30): paired t-test on mean HNS",
        [
            Column("Quantity", "quantity"),
            Column("Value", "value", digits=4),
            Column("95 %", "interval", digits=3),
            Column("printed", "printed"),
        ],
        rows,
        [f"Paired: {test.pairing}."],
    )


def ablation_table() -> Table:
    """Table `tab:EVADE_ablation`, lower part."""
    scores = ablation_scores()
    rows: list[list[Cell]] = [
        [
            label(method),
            mean(scores[method]),
            printed(method, "mean_hns", ABLATION_TABLE),
            iqm(scores[method]),
            printed(method, "iqm", ABLATION_TABLE),
            optimality_gap(scores[method]),
            None if method == "simple30" else record(method, ABLATION_TABLE),
            printed_record(method, ABLATION_TABLE),
        ]
        for method in ABLATION
    ]
    return Table(
        "Ablation, 12 games x 5 runs",
        [
            Column("Method", "method"),
            *beside("Mean HNS", "mean_hns"),
            *beside("IQM", "iqm"),
            Column("Optimality gap", "optimality_gap"),
            *beside("Vs SimPLe(30) (W/L)", "vs_simple30"),
        ],
        rows,
    )
