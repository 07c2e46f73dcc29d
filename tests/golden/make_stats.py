"""Make stats.json: what rliable and scipy say about the paper's runs. Needs its own environment, made once with

    python3.11 -m venv oracle
    oracle/bin/pip install "rliable==1.2.0" "arch<8" "pandas<3"
    oracle/bin/python tests/golden/make_stats.py

rliable ignores the random state it is given and draws from numpy's global generator, so that one is seeded.
"""

import csv
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.stats
from rliable import library, metrics

HERE = Path(__file__).parent
PUBLISHED = HERE.parents[1] / "src" / "evade" / "published"
THRESHOLDS = [-0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0]
AGGREGATES = {
    "mean": metrics.aggregate_mean,
    "median": metrics.aggregate_median,
    "iqm": metrics.aggregate_iqm,
    "optimality_gap": metrics.aggregate_optimality_gap,
}


def rows(name):
    with (PUBLISHED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def human_normalised(method, games):
    """A matrix of runs x games, as rliable wants it."""
    bounds = {row["game"]: (float(row["random"]), float(row["human"])) for row in rows("human_random.csv")}
    columns = []
    for game in games:
        low, high = bounds[game]
        scores = [float(row["score"]) for row in rows("runs.csv") if (row["method"], row["game"]) == (method, game)]
        columns.append([(score - low) / (high - low) for score in scores])
    return np.array(columns).T


def describe(scores):
    """Aggregates with 95 % intervals, and the performance profile, of one method."""
    everything = {"method": scores}
    np.random.seed(2024)
    points, intervals = library.get_interval_estimates(
        everything, lambda x: np.array([metric(x) for metric in AGGREGATES.values()]), reps=50_000
    )
    profile, _ = library.create_performance_profile(everything, np.array(THRESHOLDS), reps=10)
    return {
        "value": dict(zip(AGGREGATES, points["method"].tolist(), strict=True)),
        "interval": dict(zip(AGGREGATES, intervals["method"].T.tolist(), strict=True)),
        "profile": profile["method"].tolist(),
        "scipy_trim_mean": float(scipy.stats.trim_mean(scores, 0.25, axis=None)),
        "scipy_standard_errors": scipy.stats.sem(scores, axis=0).tolist(),
    }


def compare(first, second):
    """Probability of improvement with its interval, and scipy's paired t-test on game means."""
    np.random.seed(2024)
    point, interval = library.get_interval_estimates(
        {"pair": (first, second)}, metrics.probability_of_improvement, reps=10_000
    )
    two_sided = scipy.stats.ttest_rel(first.mean(axis=0), second.mean(axis=0))
    one_sided = scipy.stats.ttest_rel(first.mean(axis=0), second.mean(axis=0), alternative="greater")
    return {
        "probability_of_improvement": float(point["pair"]),
        "interval": interval["pair"].ravel().tolist(),
        "t": float(two_sided.statistic),
        "p_two_sided": float(two_sided.pvalue),
        "p_one_sided": float(one_sided.pvalue),
        "difference_interval": list(map(float, two_sided.confidence_interval(0.95))),
    }


def main():
    every_game = sorted({row["game"] for row in rows("runs.csv")})
    twelve_games = sorted({row["game"] for row in rows("runs.csv") if row["method"] == "evade-weighting"})
    all_26 = {method: human_normalised(method, every_game) for method in ("simple30", "evade")}
    methods = sorted({row["method"] for row in rows("runs.csv")})
    ablation = {method: human_normalised(method, twelve_games) for method in methods}
    golden = {
        "made_with": {name: version(name) for name in ("rliable", "arch", "pandas", "numpy", "scipy")},
        "thresholds": THRESHOLDS,
        "all_26": {method: describe(scores) for method, scores in all_26.items()},
        "ablation": {method: describe(scores) for method, scores in ablation.items()},
        "evade_against_simple30": compare(all_26["evade"], all_26["simple30"]),
        "different_numbers_of_runs": compare(ablation["evade"][:3], ablation["simple30"]),
    }
    (HERE / "stats.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
