"""Recompute every number of the paper's tables from its runs."""

from collections.abc import Mapping
from functools import cache

from evade.evidence.published import METHODS, PrintedValue, game_runs, game_scores, read_printed, read_runs
from evade.evidence.stats import (
    Metric,
    Record,
    Scores,
    aggregate,
    best_of_counts,
    estimate,
    human_normalise,
    paired_t_test,
    wins_and_losses,
)

HEADLINE = ("simple15", "simple30", "curl", "otrainbow", "der", "evade")
"""The methods of table `tab:EVADE_sota`, compared on 26 games."""
ABLATION = ("simple30", "evade-interaction", "evade-weighting", "evade-translation", "evade")
"""The methods of table `tab:EVADE_ablation`, compared on 12 games."""
HEADLINE_TABLE = "tab:EVADE_sota"
ABLATION_TABLE = "tab:EVADE_ablation"
TEXT = "section Results"

_METRICS: dict[str, Metric] = {"mean_hns": "mean", "median_hns": "median", "iqm": "iqm"}


def has_runs(method: str) -> bool:
    """Whether the paper prints single runs of this method, not only means."""
    return any(row.method == method for row in read_runs())


@cache
def headline_scores() -> Mapping[str, Scores]:
    """Human-normalised scores of the six methods in all 26 games."""
    return {method: human_normalise(game_scores(method)) for method in HEADLINE}


@cache
def ablation_scores() -> Mapping[str, Scores]:
    """Human-normalised scores of the five agents in the 12 games of the ablation."""
    games = game_runs("evade-interaction").keys()
    return {
        method: human_normalise({game: runs for game, runs in game_scores(method).items() if game in games})
        for method in ABLATION
    }


def record(method: str, table: str) -> Record:
    """Count wins and losses as the table does: against EVaDE-SimPLe, or SimPLe(30) in the ablation."""
    scores, opponent = (ablation_scores(), "simple30") if table == ABLATION_TABLE else (headline_scores(), "evade")
    return wins_and_losses(scores[method], scores[opponent])


def recompute(value: PrintedValue) -> float:
    """Recompute a printed number from the paper's runs."""
    scores = ablation_scores() if value.table == ABLATION_TABLE else headline_scores()
    if value.game:
        return float(getattr(estimate(game_scores(value.method)[value.game]), value.metric))
    if value.metric in _METRICS:
        return aggregate(scores[value.method], _METRICS[value.metric])
    if value.metric == "p_value":
        return paired_t_test(scores["evade"], scores["simple30"]).p_one_sided
    if value.metric == "best_of":
        return best_of_counts(scores)[value.method]
    return float(getattr(record(value.method, value.table), value.metric))


@cache
def _printed() -> dict[tuple[str, str, str, str], str]:
    return {(row.method, row.metric, row.table, row.game): row.printed for row in read_printed()}


def printed(method: str, metric: str, table: str, game: str = "") -> str | None:
    """The number that the paper prints, as text; None if it prints none."""
    return _printed().get((method, metric, table, game))


def label(method: str) -> str:
    """The method's name in the paper's tables."""
    return METHODS[method]
