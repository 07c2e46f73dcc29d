"""Our runs as scores that may be compared: one number for each run, by variant and game, and all by one protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

from evade.config import flatten
from evade.errors import ProtocolMismatch, RunError, UnknownMethod
from evade.evidence.published import game_scores
from evade.evidence.results.read import RunResult
from evade.evidence.results.suites import ATARI, SUITES, Suite, SuiteScores, place_game

PAPER = "paper:"
"""How a baseline begins that is a method of the paper, as in `paper:simple30`."""

EXPECTED = ("game", "seed", "variant", "machine.", "world_model.event_layers")
"""Settings in which the runs of a comparison may differ without a word."""

Grouped: TypeAlias = dict[Suite, dict[str, dict[str, tuple[float, ...]]]]
"""Scores of runs by suite, variant and game."""


@dataclass(frozen=True)
class Comparison:
    """Scores of several variants, and what must be known about them."""

    suites: tuple[SuiteScores, ...]
    baseline: str | None
    """The variant the others are held against."""
    notes: tuple[str, ...]
    """Runs that were left out, and settings that are not the same everywhere."""


def compare_runs(runs: Sequence[RunResult], baseline: str | None = None) -> Comparison:
    """Group finished runs by variant and game; a run's score is the mean of its final evaluation's episodes.

    Args:
        runs: what `read_runs` gave; unfinished ones are left out and named in the notes.
        baseline: a variant among the runs, or `paper:METHOD` for a method of the paper (in its 26 Atari games).

    Raises:
        ProtocolMismatch: the runs differ in how they were preprocessed or evaluated.
        RunError: no run is finished, or one is there twice.
        UnknownMethod: there are no scores of the baseline.
    """
    finished = [run for run in runs if run.is_finished]
    if not finished:
        raise RunError(f"none of the {len(runs)} runs is finished: finish one with `evade resume`.")
    _check_protocol(finished)
    _check_distinct(finished)
    grouped = _group(finished)
    if baseline is not None:
        _add_baseline(grouped, baseline)
    left_out = [f"Left out: {run.folder.path} is not finished ({run.status})." for run in runs if not run.is_finished]
    return Comparison(
        tuple(SuiteScores(suite, _order(grouped[suite], baseline)) for suite in SUITES if suite in grouped),
        baseline,
        (*left_out, *_note_settings(finished), *_note_paper(baseline)),
    )


def _check_protocol(runs: Sequence[RunResult]) -> None:
    differing = _find_differing({str(run.folder.path): run.protocol for run in runs})
    if differing:
        told = [
            f"{name} is " + " and ".join(f"{value} in {path}" for value, path in values.items())
            for name, values in differing.items()
        ]
        raise ProtocolMismatch(
            f"these runs were not made by one protocol, so their scores do not compare: {'; '.join(told)}. "
            f"Compare them separately."
        )


def _check_distinct(runs: Sequence[RunResult]) -> None:
    """A copy of a run is no second run: counting it would make every number look surer than it is."""
    seen: dict[str, RunResult] = {}
    for run in runs:
        first = seen.setdefault(run.fingerprint, run)
        if first is not run:
            raise RunError(
                f"{first.folder.path} and {run.folder.path} are the same run (fingerprint {run.fingerprint}, seed "
                f"{run.seed}): give one of them."
            )


def _group(runs: Sequence[RunResult]) -> Grouped:
    grouped: Grouped = {}
    for run in sorted(runs, key=lambda run: run.seed):
        suite, game = place_game(run.game)
        games = grouped.setdefault(suite, {}).setdefault(run.variant, {})
        games[game] = (*games.get(game, ()), fmean(run.final_scores))
    return grouped


def _add_baseline(grouped: Grouped, baseline: str) -> None:
    """Put the paper's scores of the games that we have beside ours; a variant of ours only has to be there."""
    variants = sorted({variant for scores in grouped.values() for variant in scores})
    if not baseline.startswith(PAPER):
        if baseline not in variants:
            raise UnknownMethod(
                f"no finished run is of the baseline {baseline!r}: choose one of {', '.join(variants)}, or a method "
                f"of the paper, such as {PAPER}simple30."
            )
        return
    published = game_scores(baseline.removeprefix(PAPER))
    ours = {game for games in grouped.get(ATARI, {}).values() for game in games}
    scores = {game: runs for game, runs in published.items() if game in ours}
    if not scores:
        raise UnknownMethod(
            f"the paper has no scores of {baseline!r} in any game of these runs: it played {len(published)} games of "
            f"Atari 100K. Choose one of the variants {', '.join(variants)}."
        )
    grouped[ATARI][baseline] = scores


def _order(scores: dict[str, dict[str, tuple[float, ...]]], baseline: str | None) -> dict[str, Any]:
    """The baseline first, then the variants by name, and each variant's games by name."""
    names = sorted(scores, key=lambda name: (name != baseline, name))
    return {name: dict(sorted(scores[name].items())) for name in names}


def _note_settings(runs: Sequence[RunResult]) -> list[str]:
    differing = _find_differing({str(run.folder.path): run.settings for run in runs})
    unexpected = [
        f"{name} ({', '.join(values)})" for name, values in differing.items() if not name.startswith(EXPECTED)
    ]
    return [f"These runs differ in more than game, variant and seed: {', '.join(unexpected)}."] if unexpected else []


def _note_paper(baseline: str | None) -> list[str]:
    if baseline is None or not baseline.startswith(PAPER):
        return []
    return [f"{baseline} was evaluated by the paper's own protocol, which need not be that of these runs."]


def _find_differing(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Each setting with more than one value: its values as text, each with the first document that has it."""
    values: dict[str, dict[str, str]] = {}
    flat = {owner: flatten(dict(document)) for owner, document in documents.items()}
    names = dict.fromkeys(name for document in flat.values() for name in document)
    for name in names:
        for owner, document in flat.items():
            values.setdefault(name, {}).setdefault(repr(document[name]) if name in document else "absent", owner)
    return {name: found for name, found in values.items() if len(found) > 1}
