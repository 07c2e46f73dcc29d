"""The EVaDE paper's data: every printed run, mean and aggregate.

Games are spelt as in the Arcade Learning Environment; the paper writes both JamesBond and Jamesbond. Methods have short
names:

- `simple15`: SimPLe as its authors published it, 15 iterations; `simple30`: SimPLe as the paper trained it;
- `evade`: all three event layers; `evade-interaction`, `evade-weighting`, `evade-translation`: one of them;
- `curl`, `otrainbow` (Overtrained Rainbow), `der` (Data-Efficient Rainbow).
"""

from functools import cache
from typing import NamedTuple

from evade.errors import UnknownMethod
from evade.evidence.published.rows import read_rows

METHODS: dict[str, str] = {
    "simple15": "SimPLe",
    "simple30": "SimPLe(30)",
    "curl": "CURL",
    "otrainbow": "OTRainbow",
    "der": "Eff. Rainbow",
    "evade-interaction": "Inter. Layer",
    "evade-weighting": "Weight. Layer",
    "evade-translation": "Trans. Layer",
    "evade": "EVaDE-SimPLe",
}
"""The label of each method in the paper's tables."""


class RunScore(NamedTuple):
    """The score of one training run in one game."""

    method: str
    game: str
    run: int
    """Counted from 1, in the order of the table. Equal numbers of two methods do not mean equal seeds."""
    score: float
    table: str


class MeanScore(NamedTuple):
    """The mean score of a method in one game, as printed."""

    method: str
    game: str
    score: float
    table: str


class HumanRandom(NamedTuple):
    """The reference scores of human normalisation in one game."""

    game: str
    human: float
    random: float
    table: str


class PrintedValue(NamedTuple):
    """One number as the paper prints it, kept as text because its digits state its precision."""

    method: str
    game: str
    """Empty for an aggregate over all games of the table."""
    metric: str
    printed: str
    table: str


@cache
def read_runs() -> tuple[RunScore, ...]:
    """All 440 runs: 26 games x 5 runs of `simple30` and `evade`, 12 games x 5 runs of each single-layer agent."""
    return tuple(
        RunScore(row["method"], row["game"], int(row["run"]), float(row["score"]), row["table"])
        for row in read_rows("runs.csv")
    )


@cache
def read_means() -> tuple[MeanScore, ...]:
    """The mean scores of six methods in 26 games, as printed."""
    return tuple(
        MeanScore(row["method"], row["game"], float(row["score"]), row["table"]) for row in read_rows("means.csv")
    )


@cache
def read_human_random() -> tuple[HumanRandom, ...]:
    """Human and random scores of the 26 games of Atari 100K."""
    return tuple(
        HumanRandom(row["game"], float(row["human"]), float(row["random"]), row["table"])
        for row in read_rows("human_random.csv")
    )


@cache
def read_printed() -> tuple[PrintedValue, ...]:
    """Every other number the paper prints about its data; mean scores are in `read_means`."""
    return tuple(PrintedValue(**row) for row in read_rows("printed.csv"))


def game_runs(method: str) -> dict[str, tuple[float, ...]]:
    """A method's scores in each game, one per run, in the order of the paper's tables.

    Raises:
        UnknownMethod: the paper prints no single runs of this method.
    """
    by_game: dict[str, list[float]] = {}
    for row in read_runs():
        if row.method == method:
            by_game.setdefault(row.game, []).append(row.score)
    _require_known(method, bool(by_game), "single runs", {row.method for row in read_runs()})
    return {game: tuple(by_game[game]) for game in sorted(by_game)}


def game_means(method: str) -> dict[str, float]:
    """A method's mean score in each game, as printed.

    Raises:
        UnknownMethod: the paper prints no mean scores of this method.
    """
    by_game = {row.game: row.score for row in read_means() if row.method == method}
    _require_known(method, bool(by_game), "mean scores", {row.method for row in read_means()})
    return by_game


def game_scores(method: str) -> dict[str, tuple[float, ...]]:
    """A method's runs in each game; if only means are printed, each mean counts as one run.

    Raises:
        UnknownMethod: the paper has no such method.
    """
    _require_known(method, method in METHODS, "scores", set(METHODS))
    if any(row.method == method for row in read_runs()):
        return game_runs(method)
    return {game: (score,) for game, score in game_means(method).items()}


def _require_known(method: str, is_known: bool, what: str, known: set[str]) -> None:
    if not is_known:
        raise UnknownMethod(f"the paper prints no {what} of {method!r}: choose one of {', '.join(sorted(known))}.")
