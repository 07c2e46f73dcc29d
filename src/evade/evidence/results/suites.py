"""Suites: groups of games whose scores are normalised to one scale."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from evade.errors import UnknownGame
from evade.evidence.stats import Bounds, Scores, find_game, human_bounds, minatar_bounds, normalise


@dataclass(frozen=True, eq=False)
class Suite:
    """Games with a common scale, or the games without reference scores."""

    name: str
    title: str
    scale: str
    """The name of a normalised score; empty if the suite has no scale."""
    note: str
    """An explanation of the scale for tables."""
    bounds: Mapping[str, Bounds]
    """By game; empty if the suite has no scale."""


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
    "Other games have no reference scores: their raw scores are compared, but not aggregated.",
    {},
)
SUITES = (ATARI, MINATAR, OTHER)
"""In the order of the tables."""


@dataclass(frozen=True)
class SuiteScores:
    """The scores of every variant in the games of one suite, all by one protocol."""

    suite: Suite
    raw: Mapping[str, Scores]
    """By variant (or label, `evade (quick)`) and game, one score per run. Variants may have different games."""
    protocol: int = 1
    """1 for the protocol of most runs; others are kept apart and counted from 2."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By label: the name that figures look its style up by, if it is another."""

    @property
    def title(self) -> str:
        """As tables show it."""
        return self.suite.title + (f", protocol {self.protocol}" if self.protocol > 1 else "")

    @property
    def file_name(self) -> str:
        """As names of files begin."""
        return self.suite.name + (f"-protocol-{self.protocol}" if self.protocol > 1 else "")

    def pair_with(self, baseline: str) -> tuple[dict[str, str], list[str]]:
        """What each other label is compared with, and the labels that can be compared with nothing.

        It is the baseline, or its runs with the same other settings: `simple (quick)` for `evade (quick)`.
        """
        pairs, alone = {}, []
        for label in self.raw:
            variant, *details = label.partition(" (")
            partner = baseline if baseline in self.raw else baseline + "".join(details)
            if partner not in self.raw:
                alone.append(label)
            elif label != partner and variant != baseline:
                pairs[label] = partner
        return pairs, alone

    @cached_property
    def normalised(self) -> Mapping[str, Scores]:
        """The normalised scores; the raw ones if the suite has no scale."""
        if not self.suite.scale:
            return self.raw
        return {variant: normalise(scores, self.suite.bounds) for variant, scores in self.raw.items()}

    def name(self, label: str) -> str:
        """The name that figures look a label's style up by."""
        return self.names.get(label, label)

    def shared(self, first: str, second: str) -> tuple[Scores, Scores]:
        """The normalised scores of two variants in the games that both have; empty if they share none."""
        one, other = (self.normalised.get(name, {}) for name in (first, second))
        games = sorted(one.keys() & other.keys())
        return {game: one[game] for game in games}, {game: other[game] for game in games}


def place_game(name: str) -> tuple[Suite, str]:
    """Find a game's suite, and the suite's name for the game, from its name in a run's settings."""
    for suite in (ATARI, MINATAR):
        if name.startswith(f"{suite.name}/"):
            try:
                return suite, find_game(name, suite.bounds)
            except UnknownGame:
                return OTHER, name
    return OTHER, name
