"""Comparison of our runs: one score per run, grouped by suite, variant and game, all evaluated by one protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evade.errors import RunError, UnknownMethod
from evade.evidence.published import game_scores
from evade.evidence.results.comparability import check_comparable, check_distinct, unexpected_differences
from evade.evidence.results.labels import label_runs
from evade.evidence.results.read import RunResult
from evade.evidence.results.suites import ATARI, SUITES, Suite, SuiteScores, place_game

PAPER = "paper:"
"""The prefix of a baseline that is a method of the paper, as in `paper:simple30`."""

Grouped: TypeAlias = dict[Suite, dict[str, dict[str, tuple[float, ...]]]]
"""Scores of runs by suite, variant and game."""


@dataclass(frozen=True)
class Comparison:
    """Scores of several variants, with notes for the reader."""

    suites: tuple[SuiteScores, ...]
    baseline: str | None
    """The variant that the others are compared with."""
    notes: tuple[str, ...]
    """Runs that were left out, and settings in which the runs differ unexpectedly."""


def compare_runs(runs: Sequence[RunResult], baseline: str | None = None) -> Comparison:
    """Group finished runs by suite, variant and game; a run's score is the mean of its final evaluation.

    Args:
        runs: from `read_runs`; unfinished ones are left out and listed in the notes.
        baseline: a variant among the runs, or `paper:METHOD` for a method of the paper (in its 26 Atari games).

    Raises:
        ProtocolMismatch: the runs differ in preprocessing, game settings or evaluation.
        RunError: no run is finished, or one is given twice.
        UnknownMethod: the baseline has no scores.
    """
    finished = [run for run in runs if run.is_finished]
    if not finished:
        raise RunError(f"none of the {len(runs)} runs is finished: finish one with `evade resume`.")
    check_comparable(finished)
    check_distinct(finished)
    grouped = _group(finished)
    if baseline is not None:
        _add_baseline(grouped, baseline)
    left_out = [f"Left out: {run.folder.path} is not finished ({run.status})." for run in runs if not run.is_finished]
    return Comparison(
        tuple(SuiteScores(suite, _order(grouped[suite], baseline)) for suite in SUITES if suite in grouped),
        baseline,
        (*left_out, *_note_settings(finished), *_note_paper(baseline)),
    )


def _group(runs: Sequence[RunResult]) -> Grouped:
    grouped: Grouped = {}
    labels = label_runs(runs)
    for run in sorted(runs, key=lambda run: run.seed):
        assert run.final_score is not None, "only finished runs are grouped"
        suite, game = place_game(run.game)
        games = grouped.setdefault(suite, {}).setdefault(labels[str(run.folder.path)], {})
        games[game] = (*games.get(game, ()), run.final_score)
    return grouped


def _add_baseline(grouped: Grouped, baseline: str) -> None:
    """Add the paper's scores of the games in our runs; a variant of ours needs only be present."""
    variants = sorted({variant for scores in grouped.values() for variant in scores})
    if not baseline.startswith(PAPER):
        if baseline not in variants:
            raise UnknownMethod(
                f"the baseline {baseline!r} has no finished run: choose one of {', '.join(variants)}, or a method of "
                f"the paper, such as {PAPER}simple30."
            )
        return
    published = game_scores(baseline.removeprefix(PAPER))
    ours = {game for games in grouped.get(ATARI, {}).values() for game in games}
    scores = {game: runs for game, runs in published.items() if game in ours}
    if not scores:
        raise UnknownMethod(
            f"the paper has no scores of {baseline!r} in the games of these runs, only in {len(published)} games of "
            f"Atari 100K: choose one of the variants {', '.join(variants)}."
        )
    grouped[ATARI][baseline] = scores


def _order(scores: dict[str, dict[str, tuple[float, ...]]], baseline: str | None) -> dict[str, Any]:
    """Sort by name, with the baseline first, and each variant's games by name."""
    names = sorted(scores, key=lambda name: (name != baseline, name))
    return {name: dict(sorted(scores[name].items())) for name in names}


def _note_settings(runs: Sequence[RunResult]) -> list[str]:
    differing = [f"{name} ({', '.join(values)})" for name, values in unexpected_differences(runs).items()]
    return [f"These runs differ in more than game, variant and seed: {', '.join(differing)}."] if differing else []


def _note_paper(baseline: str | None) -> list[str]:
    if baseline is None or not baseline.startswith(PAPER):
        return []
    return [f"{baseline} was evaluated by the paper's own protocol, which may differ from that of these runs."]
