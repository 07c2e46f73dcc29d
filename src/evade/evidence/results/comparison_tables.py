"""The tables of a comparison: scores per game, aggregates per suite, each variant against the baseline."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from evade.errors import ScoreError, TableError
from evade.evidence.results.compare import Comparison
from evade.evidence.results.suites import SuiteScores
from evade.evidence.stats import (
    Column,
    Estimate,
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
from evade.evidence.stats.scores import MIN_RUNS, FloatArray, has_enough_runs
from evade.evidence.stats.tables import Cell, interval_columns

ComparisonTable = Literal["games", "aggregates", "versus"]
"""The names of the tables, in printing order."""


def build_comparison_tables(
    comparison: Comparison, names: Iterable[ComparisonTable] = (), num_resamples: int = 20_000, seed: int = 0
) -> dict[str, Table]:
    """Build the named tables, or all possible ones if none is named; resamples and seed are for the intervals."""
    tables: dict[str, Table] = {}
    for name in tuple(names) or _possible_tables(comparison):
        if name == "games":
            tables[name] = games_table(comparison)
        elif name == "aggregates":
            tables[name] = aggregates_table(comparison, num_resamples, seed)
        else:
            tables[name] = versus_table(comparison, num_resamples, seed)
    return tables


def _possible_tables(comparison: Comparison) -> tuple[ComparisonTable, ...]:
    possible: dict[ComparisonTable, bool] = {
        "games": True,
        "aggregates": any(scores.suite.scale for scores in comparison.suites),
        "versus": comparison.baseline is not None,
    }
    return tuple(name for name, is_possible in possible.items() if is_possible)


def games_table(comparison: Comparison) -> Table:
    """Tabulate mean, standard error and number of runs of each variant in each game."""
    rows: list[list[Cell]] = []
    for scores in comparison.suites:
        for game in sorted({game for games in scores.raw.values() for game in games}):
            for variant in (name for name in scores.raw if game in scores.raw[name]):
                runs = scores.raw[variant][game]
                on_scale = _estimate(scores.normalised[variant][game]) if scores.suite.scale else None
                rows.append([scores.title, game, variant, len(runs), _estimate(runs), on_scale])
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
        [*_note_few(comparison), *_suite_notes(comparison), *comparison.notes],
    )


def aggregates_table(comparison: Comparison, num_resamples: int = 20_000, seed: int = 0) -> Table:
    """Tabulate the four aggregates, with intervals, over the games of each suite that has a scale."""
    rows: list[list[Cell]] = []
    notes = [f"Stratified bootstrap over runs, {num_resamples} resamples, seed {seed}."]
    for scores in comparison.suites:
        if scores.suite.scale:
            rows += [
                [scores.title, variant, len(games), _count_runs(games), *_aggregates(games, num_resamples, seed)]
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
        "paired t-test of normalised game means, one pair per game: it is about games, not about runs."
    ]
    for scores in comparison.suites:
        pairs, alone = scores.pair_with(comparison.baseline)
        notes += [f"{label} in {scores.title}: {comparison.baseline} has no comparable scores." for label in alone]
        for variant, baseline in pairs.items():
            mine, other = scores.shared(variant, baseline)
            if not mine:
                notes.append(f"{variant} and {baseline} share no game of {scores.title}.")
                continue
            can_resample = has_enough_runs(mine) and has_enough_runs(other)
            if not can_resample:
                notes.append(
                    f"{variant} and {baseline} in {scores.title}: no P(better), because a game has fewer than "
                    f"{MIN_RUNS} runs."
                )
            rows.append(
                [
                    scores.title,
                    variant,
                    len(mine),
                    wins_and_losses(mine, other),
                    probability_of_improvement(mine, other) if can_resample else None,
                    improvement_interval(mine, other, num_resamples=num_resamples, seed=seed) if can_resample else None,
                    *_test(f"{variant} in {scores.title}", scores, mine, other, notes),
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
    if not has_enough_runs(games):
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
        notes.append(f"{scores.title}: the variants have different games, so their aggregates are not comparable.")
    for variant, games in scores.raw.items():
        few = [game for game, runs in games.items() if len(runs) < MIN_RUNS]
        if few:
            where = "each game" if len(few) == len(games) else ", ".join(few)
            notes.append(f"{variant} has fewer than {MIN_RUNS} runs of {where} in {scores.title}: no interval.")
    return notes


def _estimate(runs: Sequence[float] | FloatArray) -> Estimate:
    """Mean and standard error over runs; the error of too few runs is NaN, which is not shown."""
    found = estimate(runs)
    return found if len(runs) >= MIN_RUNS else Estimate(found.mean, math.nan)


def _note_few(comparison: Comparison) -> list[str]:
    few = any(
        len(runs) < MIN_RUNS for scores in comparison.suites for games in scores.raw.values() for runs in games.values()
    )
    rule = f"No standard error is given for fewer than {MIN_RUNS} runs: they do not show how much runs differ."
    return [rule] if few else []


def _suite_notes(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(scores.suite.note for scores in comparison.suites))


def _count_runs(games: Scores) -> int:
    return sum(len(runs) for runs in games.values())
