"""Comparison of our runs: one score per run, grouped by suite, protocol, variant and game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evade.errors import RunError, UnknownMethod
from evade.evidence.published import game_scores
from evade.evidence.results.comparability import (
    check_distinct,
    label_runs,
    name_labels,
    split_by_protocol,
    unexpected_differences,
)
from evade.evidence.results.read import RunResult
from evade.evidence.results.suites import ATARI, SUITES, Suite, SuiteScores, place_game
from evade.evidence.stats import Scores

PAPER = "paper:"
"""The prefix of a baseline that is a method of the paper, as in `paper:simple30`."""

SHOWN_PATHS = 3
"""Folders that a note lists."""


@dataclass(frozen=True)
class Comparison:
    """Scores of several variants, with notes for the reader."""

    suites: tuple[SuiteScores, ...]
    """One for each suite and protocol."""
    baseline: str | None
    """The variant that the others are compared with."""
    notes: tuple[str, ...]
    """Runs that were left out or kept apart, and settings in which the runs differ unexpectedly."""


@dataclass
class Section:
    """Runs of one suite and one protocol."""

    scores: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)
    """By label and game."""
    names: dict[str, str] = field(default_factory=dict)
    """By label, as `name_labels`."""
    notes: list[str] = field(default_factory=list)


def compare_runs(runs: Sequence[RunResult], baseline: str | None = None) -> Comparison:
    """Group finished runs by suite, protocol, variant and game; a run's score is the mean of its final evaluation.

    Runs of another protocol than most are kept apart, and runs of one variant with other settings get another label.

    Args:
        runs: from `read_runs`; unfinished ones are left out and listed in the notes.
        baseline: a variant among the runs, or `paper:METHOD` for a method of the paper (in its 26 Atari games).

    Raises:
        RunError: no run is finished, or one is given twice.
        UnknownMethod: the baseline has no scores.
    """
    finished = [run for run in runs if run.is_finished]
    if not finished:
        raise RunError(f"none of the {len(runs)} runs is finished: finish one with `evade resume`.")
    check_distinct(finished)
    sections = _divide(finished)
    if baseline is not None:
        _add_baseline(sections, baseline)
    left_out = [f"Left out: {run.folder.path} is not finished ({run.status})." for run in runs if not run.is_finished]
    notes = [note for section in sections.values() for note in section.notes]
    return Comparison(
        tuple(
            SuiteScores(suite, _order(section.scores, baseline), protocol, section.names)
            for (suite, protocol), section in sections.items()
        ),
        baseline,
        (*left_out, *notes, *_note_paper(baseline)),
    )


def _divide(runs: Sequence[RunResult]) -> dict[tuple[Suite, int], Section]:
    """The runs by suite and protocol, in the order of the tables."""
    sections: dict[tuple[Suite, int], Section] = {}
    for suite in SUITES:
        members = sorted((run for run in runs if place_game(run.game)[0] is suite), key=lambda run: run.seed)
        # Games without a common scale are never averaged, so each may have a protocol of its own.
        domains = [members] if suite.scale else [[r for r in members if r.game == g] for g in _games(members)]
        for domain in domains:
            for protocol, group in enumerate(split_by_protocol(domain), start=1):
                section = sections.setdefault((suite, protocol), Section())
                _add_runs(section.scores, group.runs)
                section.names |= name_labels(group.runs)
                if protocol > 1:
                    section.notes.append(
                        _note_apart(f"{suite.title}, protocol {protocol}", group.runs, group.difference)
                    )
                section.notes += _note_settings(group.runs)
    return dict(sorted(sections.items(), key=lambda item: (SUITES.index(item[0][0]), item[0][1])))


def _games(runs: Sequence[RunResult]) -> list[str]:
    return sorted({run.game for run in runs})


def _add_runs(scores: dict[str, dict[str, tuple[float, ...]]], runs: Sequence[RunResult]) -> None:
    for run, label in zip(runs, label_runs(runs), strict=True):
        assert run.final_score is not None, "only finished runs are compared"
        games, game = scores.setdefault(label, {}), place_game(run.game)[1]
        games[game] = (*games.get(game, ()), run.final_score)


def _add_baseline(sections: Mapping[tuple[Suite, int], Section], baseline: str) -> None:
    """Add the paper's scores of the games in our runs; a variant of ours needs only be present."""
    labels = sorted({label for section in sections.values() for label in section.scores})
    if not baseline.startswith(PAPER):
        if baseline not in labels and baseline not in {_variant(label) for label in labels}:
            raise UnknownMethod(
                f"the baseline {baseline!r} has no finished run: choose one of {', '.join(labels)}, or a method of "
                f"the paper, such as {PAPER}simple30."
            )
        return
    published = game_scores(baseline.removeprefix(PAPER))
    is_found = False
    for (suite, _), section in sections.items():
        ours = {game for games in section.scores.values() for game in games} if suite is ATARI else set()
        if scores := {game: tuple(runs) for game, runs in published.items() if game in ours}:
            section.scores[baseline], is_found = scores, True
    if not is_found:
        raise UnknownMethod(
            f"the paper has no scores of {baseline!r} in the games of these runs, only in {len(published)} games of "
            f"Atari 100K: choose one of the variants {', '.join(labels)}."
        )


def _variant(label: str) -> str:
    return label.partition(" (")[0]


def _order(scores: Mapping[str, Scores], baseline: str | None) -> dict[str, Scores]:
    """Sort by name, with the baseline first, and each variant's games by name."""
    names = sorted(scores, key=lambda name: (baseline not in (name, _variant(name)), name))
    return {name: dict(sorted(scores[name].items())) for name in names}


def _note_apart(title: str, runs: Sequence[RunResult], difference: str) -> str:
    paths = ", ".join(str(run.folder.path) for run in runs[:SHOWN_PATHS])
    more = f" and {len(runs) - SHOWN_PATHS} more" if len(runs) > SHOWN_PATHS else ""
    return f"{title} is kept apart, because its scores mean something else ({difference}): {paths}{more}."


def _note_settings(runs: Sequence[RunResult]) -> list[str]:
    differing = [f"{name} ({', '.join(values)})" for name, values in unexpected_differences(runs).items()]
    return [f"These runs differ in more than game, variant and seed: {', '.join(differing)}."] if differing else []


def _note_paper(baseline: str | None) -> list[str]:
    if baseline is None or not baseline.startswith(PAPER):
        return []
    return [f"{baseline} was evaluated by the paper's own protocol, which may differ from that of these runs."]
