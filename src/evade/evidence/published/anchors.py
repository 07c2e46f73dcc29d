"""Published aggregates of the wider field on Atari 100K, reference scores of MinAtar, and how sure each number is.

Protocols differ between methods (final checkpoint or best, number of episodes, training or evaluation scores), and
one method varies between sources as much as many claimed gains: read these as anchors, not as a ranking.
"""

from functools import cache
from typing import Literal, NamedTuple, cast

from evade.evidence.published.rows import read_rows

Certainty = Literal["computed", "read", "recalled"]
"""`computed` by one script from published scores; `read` in the named source; `recalled` from the literature and not
verified: check it before quoting it."""


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
    """What one run of a method costs, in its source's words."""

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
