"""Which games share a scale, and what its 0 and 1 are."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from evade.errors import UnknownGame
from evade.evidence.stats import Bounds, Scores, find_game, human_bounds, minatar_bounds, normalise


@dataclass(frozen=True, eq=False)
class Suite:
    """Games whose scores can be put on one scale, or the rest, which have none."""

    name: str
    title: str
    scale: str
    """What a score on the scale is called; empty if there is none."""
    note: str
    """What a reader of the scale must know."""
    bounds: Mapping[str, Bounds]
    """By game; empty if there is no scale."""


ATARI = Suite(
    "atari",
    "Atari 100K",
    "human-normalised score",
    "Atari 100K is human-normalised: 0 is random play, 1 is the human (the paper's table of baseline scores).",
    human_bounds(),
)
MINATAR = Suite(
    "minatar",
    "MinAtar",
    "DQN-normalised score",
    "MinAtar is DQN-normalised: 0 is random play, 1 is DQN after 5M frames, both with sticky actions; DQN's scores "
    "are read off a plot.",
    minatar_bounds(),
)
OTHER = Suite(
    "other",
    "Other games",
    "",
    "Other games have no reference scores: they are compared by raw scores alone, and not aggregated.",
    {},
)
SUITES = (ATARI, MINATAR, OTHER)
"""In the order of the tables."""


@dataclass(frozen=True)
class SuiteScores:
    """The scores of every variant in the games of one suite."""

    suite: Suite
    raw: Mapping[str, Scores]
    """By variant and game, one score for each run. Variants need not have the same games."""

    @cached_property
    def normalised(self) -> Mapping[str, Scores]:
        """The same on the suite's scale; raw where it has none."""
        if not self.suite.scale:
            return self.raw
        return {variant: normalise(scores, self.suite.bounds) for variant, scores in self.raw.items()}

    def shared(self, first: str, second: str) -> tuple[Scores, Scores]:
        """The scores of two variants in the games that both have, on the suite's scale; empty if there is none."""
        one, other = (self.normalised.get(name, {}) for name in (first, second))
        games = sorted(one.keys() & other.keys())
        return {game: one[game] for game in games}, {game: other[game] for game in games}


def place_game(name: str) -> tuple[Suite, str]:
    """The suite of a game, from its name in a run's settings, and what the suite calls the game."""
    for suite in (ATARI, MINATAR):
        if name.startswith(f"{suite.name}/"):
            try:
                return suite, find_game(name, suite.bounds)
            except UnknownGame:
                return OTHER, name
    return OTHER, name
