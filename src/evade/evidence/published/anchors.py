"""Published aggregates of other methods on Atari 100K and reference scores of MinAtar, with the certainty of each.

Protocols differ between methods (final or best checkpoint, number of episodes, training or evaluation scores), and
one method's numbers vary between sources by as much as many claimed gains: these are anchors, not a ranking.
"""

from functools import cache
from typing import Literal, NamedTuple, cast

from evade.evidence.published.rows import read_rows

Certainty = Literal["computed", "read", "recalled"]
"""`computed` by one script from published scores; `read` in the named source; `recalled` from memory of the literature
and not verified."""


class Anchor(NamedTuple):
    """One aggregate of one method over the 26 games."""

    method: str
    label: str
    runs_per_game: str
    """A number; `means` where only one mean score per game is known; empty if unknown."""
    metric: str
    """`mean_hns`, `median_hns`, `iqm` (over runs), `iqm_of_means` (over game means), `optimality_gap` or
    `num_superhuman` (games whose mean score is at least the human's)."""
    value: float
    certainty: Certainty
    source: str


class AnchorCost(NamedTuple):
    """The cost of one run of a method, as its source states it."""

    method: str
    cost: str
    certainty: Certainty
    source: str


class ReferenceScore(NamedTuple):
    """The score of a reference agent in one MinAtar game."""

    game: str
    agent: str
    """`random` or `dqn`."""
    score: float
    certainty: Certainty
    source: str


@cache
def read_anchors() -> tuple[Anchor, ...]:
    """All aggregates; a method may have several values of one metric from different sources."""
    return tuple(
        Anchor(
            row["method"],
            row["label"],
            row["runs_per_game"],
            row["metric"],
            float(row["value"]),
            cast("Certainty", row["certainty"]),
            row["source"],
        )
        for row in read_rows("anchors.csv")
    )


@cache
def read_anchor_costs() -> tuple[AnchorCost, ...]:
    """The cost of each method for which one is known."""
    return tuple(
        AnchorCost(row["method"], row["cost"], cast("Certainty", row["certainty"]), row["source"])
        for row in read_rows("anchor_costs.csv")
    )


@cache
def read_minatar() -> tuple[ReferenceScore, ...]:
    """Random play and DQN after 5M frames in the five games of MinAtar, with sticky actions."""
    return tuple(
        ReferenceScore(
            row["game"], row["agent"], float(row["score"]), cast("Certainty", row["certainty"]), row["source"]
        )
        for row in read_rows("minatar.csv")
    )
