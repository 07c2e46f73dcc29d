"""Statistics over games and runs: aggregates, bootstrap intervals, comparisons, tables. Needs numpy and scipy alone.

Scores are a mapping from a game's name to the scores of its runs:

    scores = human_normalise({"Breakout": [20.1, 18.3], "Pong": [4.3, -1.8]})
    iqm(scores), bootstrap_intervals(scores)["iqm"]
"""

from evade.evidence.stats.aggregate import Estimate, Metric, aggregate, estimate, iqm, mean, median, optimality_gap
from evade.evidence.stats.bootstrap import Interval, bootstrap_difference, bootstrap_intervals
from evade.evidence.stats.comparison import (
    Record,
    best_of_counts,
    improvement_interval,
    probability_of_improvement,
    wins_and_losses,
)
from evade.evidence.stats.normalisation import (
    Bounds,
    find_game,
    human_bounds,
    human_normalise,
    minatar_bounds,
    normalise,
)
from evade.evidence.stats.profiles import Profile, performance_profile, profile_with_band
from evade.evidence.stats.scores import Scores
from evade.evidence.stats.significance import PairedTest, paired_t_test
from evade.evidence.stats.tables import Column, Table, TableFormat

__all__ = [
    "Bounds",
    "Column",
    "Estimate",
    "Interval",
    "Metric",
    "PairedTest",
    "Profile",
    "Record",
    "Scores",
    "Table",
    "TableFormat",
    "aggregate",
    "best_of_counts",
    "bootstrap_difference",
    "bootstrap_intervals",
    "estimate",
    "find_game",
    "human_bounds",
    "human_normalise",
    "improvement_interval",
    "iqm",
    "mean",
    "median",
    "minatar_bounds",
    "normalise",
    "optimality_gap",
    "paired_t_test",
    "performance_profile",
    "probability_of_improvement",
    "profile_with_band",
    "wins_and_losses",
]
