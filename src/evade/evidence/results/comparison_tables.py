"""The tables of a comparison: scores per game, aggregates per suite, each variant against the baseline."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from evade.errors import ScoreError, TableError
from evade.evidence.results.compare import Comparison
from evade.evidence.results.suites import SuiteScores
from evade.evidence.stats import (
    Column,
    Metric,
    PairedTest,
    Scores,
    Table,
    aggregate,
    bootstrap_intervals,
    estimate,
    improvement_interval,
    paired_t_test,
    probability_of_improvement,
    wins_and_losses,
)
from evade.evidence.stats.scores import has_spread
from evade.evidence.stats.tables import Cell, interval_columns

ComparisonTable = Literal["games", "aggregates", "versus"]
"""The names of the tables, in printing order."""


def build_comparison_tables(
    comparison: Comparison, names: Iterable[ComparisonTable] = (), num_resamples: int = 20_000, seed: int = 0
) -> dict[str, Table]:
    """Build the named tables, or all possible ones if none is named; resamples and seed are for the intervals."""
    possible = get_args(ComparisonTable) if comparison.baseline else ("games", "aggregates")
    tables: dict[str, Table] = {}
    for name in tuple(names) or possible:
        if name == "games":
            tables[name] = games_table(comparison)
        elif name == "aggregates":
            tables[name] = aggregates_table(comparison, num_resamples, seed)
        else:
            tables[name] = versus_table(comparison, num_resamples, seed)
    return tables


def games_table(comparison: Comparison) -> Table:
    """Tabulate mean, standard error and number of runs of each variant in each game."""
    rows: list[list[Cell]] = []
    for scores in comparison.suites:
        for game in sorted({game for games in scores.raw.values() for game in games}):
            for variant in (name for name in scores.raw if game in scores.raw[name]):
                runs = scores.raw[variant][game]
                on_scale = estimate(scores.normalised[variant][game]) if scores.suite.scale else None
                rows.append([scores.suite.title, game, variant, len(runs), estimate(runs), on_scale])
    return Table(
        "Scores in each game: mean and standard error over runs",
        [
            Column("Suite", "suite"),
            Column("Game", "game"),
            Column("Variant", "variant"),
            Column("Runs", "num_runs"),
            Column("Score", "score", digits=2),
            Column("Normalised", "normalised"),
        ],
        rows,
        [*_suite_notes(comparison), *comparison.notes],
    )


def aggregates_table(comparison: Comparison, num_resamples: int = 20_000, seed: int = 0) -> Table:
    """Tabulate the four aggregates, with intervals, over the games of each suite that has a scale."""
    rows: list[list[Cell]] = []
    notes = [f"Stratified bootstrap over runs, {num_resamples} resamples, seed {seed}."]
    for scores in comparison.suites:
        if scores.suite.scale:
            rows += [
                [scores.suite.title, variant, len(games), _count_runs(games), *_aggregates(games, num_resamples, seed)]
                for variant, games in scores.normalised.items()
            ]
            notes += _note_uneven(scores)
    names = {"Mean": "mean", "Median": "median", "IQM": "iqm", "Gap": "optimality_gap"}
    return Table(
        "Aggregates over games: normalised scores with 95 % intervals",
        [
            Column("Suite", "suite"),
            Column("Variant", "variant"),
            Column("Games", "num_games"),
            Column("Runs", "num_runs"),
            *interval_columns(names),
        ],
        rows,
        [*notes, *_suite_notes(comparison)],
    )


def versus_table(comparison: Comparison, num_resamples: int = 20_000, seed: int = 0) -> Table:
    """Compare each variant with the baseline in the games that both have."""
    if comparison.baseline is None:
        raise TableError("the table versus needs a baseline: choose one, as in --baseline simple.")
    rows: list[list[Cell]] = []
    notes = [
        f"P(better): bootstrap over runs, {num_resamples} resamples, seed {seed}. Difference, t, p and effect size: "
        "paired t-test of normalised game means, one pair per game."
    ]
    for scores in comparison.suites:
        if comparison.baseline not in scores.raw:
            notes.append(f"{comparison.baseline} has no scores in {scores.suite.title}.")
            continue
        for variant in (name for name in scores.raw if name != comparison.baseline):
            mine, other = scores.shared(variant, comparison.baseline)
            if not mine:
                notes.append(f"{variant} and {comparison.baseline} share no game of {scores.suite.title}.")
                continue
            can_resample = has_spread(mine) and has_spread(other)
            rows.append(
                [
                    scores.suite.title,
                    variant,
                    len(mine),
                    wins_and_losses(mine, other),
                    probability_of_improvement(mine, other),
                    improvement_interval(mine, other, num_resamples=num_resamples, seed=seed) if can_resample else None,
                    *_test(f"{variant} in {scores.suite.title}", scores, mine, other, notes),
                ]
            )
    return Table(
        f"Each variant against {comparison.baseline}, in the games both have",
        [
            Column("Suite", "suite"),
            Column("Variant", "variant"),
            Column("Games", "num_games"),
            Column("W/L", "record"),
            Column("P(better)", "probability_of_improvement"),
            Column("95 %", "probability_of_improvement_interval"),
            Column("Difference", "mean_difference"),
            Column("95 %", "mean_difference_interval"),
            Column("t", "t"),
            Column("p two-sided", "p_two_sided", digits=4),
            Column("p one-sided", "p_one_sided", digits=4),
            Column("Effect size", "effect_size"),
        ],
        rows,
        [*notes, *_suite_notes(comparison)],
    )


def _aggregates(games: Scores, num_resamples: int, seed: int) -> list[Cell]:
    metrics: tuple[Metric, ...] = get_args(Metric)
    if not has_spread(games):
        return [cell for metric in metrics for cell in (aggregate(games, metric), None)]
    intervals = bootstrap_intervals(games, metrics, num_resamples=num_resamples, seed=seed)
    return [cell for metric in metrics for cell in (aggregate(games, metric), intervals[metric])]


def _test(who: str, scores: SuiteScores, mine: Scores, other: Scores, notes: list[str]) -> Sequence[Cell]:
    """The six cells of the paired t-test; empty, with a note, if it is impossible."""
    if not scores.suite.scale:
        # Raw scores of different games have no common unit, so their differences cannot be averaged.
        return [None] * 6
    try:
        test: PairedTest = paired_t_test(mine, other)
    except ScoreError as error:
        notes.append(f"{who}: no t-test, because {error}")
        return [None] * 6
    return [
        test.mean_difference,
        test.interval,
        test.statistic,
        test.p_two_sided,
        test.p_one_sided,
        test.effect_size,
    ]


def _note_uneven(scores: SuiteScores) -> list[str]:
    """Note missing games and single runs, which limit the aggregates of a suite."""
    notes = []
    if len({frozenset(games) for games in scores.raw.values()}) > 1:
        notes.append(
            f"{scores.suite.title}: the variants have different games, so their aggregates are not comparable."
        )
    for variant, games in scores.raw.items():
        single = [game for game, runs in games.items() if len(runs) == 1]
        if single and has_spread(games):
            notes.append(f"{variant} has only one run of {', '.join(single)}: its intervals are too narrow.")
        elif single:
            notes.append(f"{variant} has only one run of each game of {scores.suite.title}: no interval.")
    return notes


def _suite_notes(comparison: Comparison) -> list[str]:
    return [scores.suite.note for scores in comparison.suites]


def _count_runs(games: Scores) -> int:
    return sum(len(runs) for runs in games.values())
