"""Scores on one scale for all games: 0 is one agent's score, 1 is another's."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

import numpy as np

from evade.errors import NormalisationError, ScoreError, UnknownGame
from evade.evidence.published import read_human_random, read_minatar
from evade.evidence.stats.scores import FloatArray, Scores, check_scores


class Bounds(NamedTuple):
    """The raw scores that become 0 and 1."""

    zero: float
    one: float


@cache
def human_bounds() -> Mapping[str, Bounds]:
    """Random play is 0 and the human is 1, for the 26 games of Atari 100K (paper, table `tab:baseline_scores`)."""
    return {row.game: Bounds(row.random, row.human) for row in read_human_random()}


@cache
def minatar_bounds() -> Mapping[str, Bounds]:
    """Random play is 0 and DQN after 5M frames is 1, for the five games of MinAtar; DQN is read off a plot."""
    score = {(row.game, row.agent): row.score for row in read_minatar()}
    return {game: Bounds(score[game, "random"], score[game, "dqn"]) for game, agent in score if agent == "random"}


def min_max_bounds(methods: Iterable[Scores]) -> dict[str, Bounds]:
    """For each game its lowest score of any method and run is 0 and its highest is 1.

    Such scores compare only the methods given: another method can move every number.
    """
    lowest: dict[str, float] = {}
    highest: dict[str, float] = {}
    for scores in methods:
        for game, runs in check_scores(scores).items():
            lowest[game] = min(lowest.get(game, np.inf), float(runs.min()))
            highest[game] = max(highest.get(game, -np.inf), float(runs.max()))
    return {game: Bounds(lowest[game], highest[game]) for game in lowest}


def normalise(scores: Scores, bounds: Mapping[str, Bounds]) -> dict[str, FloatArray]:
    """`(score - zero) / (one - zero)` for every run; the games come back as `bounds` spells them.

    Raises:
        UnknownGame: there are no bounds for a game.
        NormalisationError: a game's two bounds are not finite, or the upper is not above the lower.
    """
    normalised: dict[str, FloatArray] = {}
    for name, runs in check_scores(scores).items():
        game = find_game(name, bounds)
        if game in normalised:
            raise ScoreError(f"{game} is given twice, the second time as {name!r}: put its runs under one name.")
        zero, one = bounds[game]
        if not (np.isfinite(zero) and np.isfinite(one) and zero < one):
            raise NormalisationError(
                f"{game} cannot be normalised between {zero} and {one}: the upper score must be above the lower."
            )
        normalised[game] = (runs - zero) / (one - zero)
    return normalised


def human_normalise(scores: Scores) -> dict[str, FloatArray]:
    """Human-normalised scores of Atari games (paper, appendix, equation `eq:hns`)."""
    return normalise(scores, human_bounds())


def find_game(name: str, known: Iterable[str]) -> str:
    """The known game that `name` means; capitals, blanks, `_`, `-` and a leading `suite/` make no difference.

    Raises:
        UnknownGame: no known game is meant; the message names the nearest.
    """
    by_letters = {_letters(game): game for game in known}
    letters = _letters(name)
    if letters in by_letters:
        return by_letters[letters]
    near = get_close_matches(letters, by_letters, n=3)
    hint = ", ".join(by_letters[match] for match in near) or ", ".join(sorted(by_letters.values()))
    raise UnknownGame(f"{name!r} is not one of the {len(by_letters)} games with reference scores: try {hint}.")


def _letters(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.rsplit("/", 1)[-1]).lower()
