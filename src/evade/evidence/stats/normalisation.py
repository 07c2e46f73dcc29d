"""Normalised scores: one scale for all games, on which 0 and 1 are the scores of two reference agents."""

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
    """The raw scores that map to 0 and 1."""

    zero: float
    one: float


@cache
def human_bounds() -> Mapping[str, Bounds]:
    """Bounds of the 26 games of Atari 100K: random play and the human (paper, table `tab:baseline_scores`)."""
    return {row.game: Bounds(row.random, row.human) for row in read_human_random()}


@cache
def minatar_bounds() -> Mapping[str, Bounds]:
    """Bounds of the five games of MinAtar: random play and DQN after 5M frames, which is read off a plot."""
    score = {(row.game, row.agent): row.score for row in read_minatar()}
    return {game: Bounds(score[game, "random"], score[game, "dqn"]) for game, agent in score if agent == "random"}


def normalise(scores: Scores, bounds: Mapping[str, Bounds]) -> dict[str, FloatArray]:
    """Compute `(score - zero) / (one - zero)` for every run; the result spells games as `bounds` does.

    Raises:
        UnknownGame: a game has no bounds.
        NormalisationError: a game's bounds are not finite, or the upper is not above the lower.
    """
    normalised: dict[str, FloatArray] = {}
    for name, runs in check_scores(scores).items():
        game = find_game(name, bounds)
        if game in normalised:
            raise ScoreError(f"{game} is given twice, the second time as {name!r}: put all its runs under one name.")
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
    """Find the known game called `name`; case, blanks, `_`, `-` and a leading `suite/` are ignored.

    Raises:
        UnknownGame: no known game has this name; the message suggests similar ones.
    """
    by_letters = {_letters(game): game for game in known}
    letters = _letters(name)
    if letters in by_letters:
        return by_letters[letters]
    similar = ", ".join(by_letters[match] for match in get_close_matches(letters, by_letters, n=3))
    hint = f"did you mean {similar}?" if similar else f"choose one of {', '.join(sorted(by_letters.values()))}."
    raise UnknownGame(f"{name!r} is not one of the {len(by_letters)} games with reference scores: {hint}")


def _letters(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.rsplit("/", 1)[-1]).lower()
