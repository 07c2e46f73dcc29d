"""The figures of a comparison of our runs: the paper's figures, one set per suite that has a scale."""

import re
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.aggregates import plot_aggregates
from evade.evidence.figures.per_game import plot_improvement
from evade.evidence.figures.profiles import plot_profiles
from evade.evidence.figures.style import FigureFormat, save_figure
from evade.evidence.results.compare import Comparison
from evade.evidence.results.suites import SuiteScores
from evade.evidence.stats.scores import has_enough_runs


def save_comparison_figures(
    comparison: Comparison, folder: Path, form: FigureFormat = "png", seed: int = 0
) -> list[Path]:
    """Save every possible figure into a folder, which is created if missing, and return their paths.

    Profiles and the improvement over the baseline need three runs of every game.

    Raises:
        FigureError: no game has a normalised score, or a file cannot be written.
    """
    figures = [
        named for scores in comparison.suites if scores.suite.scale for named in _plot_suite(comparison, scores, seed)
    ]
    if not figures:
        raise FigureError("there is nothing to plot: none of these games has reference scores to normalise with.")
    return [save_figure(figure, folder / f"{name}.{form}") for name, figure in figures]


def _plot_suite(comparison: Comparison, scores: SuiteScores, seed: int) -> Iterator[tuple[str, Figure]]:
    """Plot each figure of one suite, with its file name."""
    suite, scale = scores.file_name, scores.suite.scale
    label = scale[0].upper() + scale[1:]
    named = {scores.name(variant): games for variant, games in scores.normalised.items()}
    yield f"{suite}-aggregates", plot_aggregates(named, axis_label=label, seed=seed)
    spread = {name: games for name, games in named.items() if has_enough_runs(games)}
    if spread:
        best = max(max(runs) for games in spread.values() for runs in games.values())
        highest = min(2.0, max(0.5, ceil(2 * best) / 2))
        yield f"{suite}-profile", plot_profiles(spread, highest=highest, axis_label=label, seed=seed)
    for variant, baseline in scores.pair_with(comparison.baseline or "")[0].items():
        mine, other = scores.shared(variant, baseline)
        if has_enough_runs(mine) and has_enough_runs(other):
            names = scores.name(variant), scores.name(baseline)
            figure = plot_improvement(mine, other, names, axis_label=scale, seed=seed)
            yield f"{suite}-improvement-{_file_name(variant)}", figure


def _file_name(label: str) -> str:
    """`evade (clip=0.2)` as `evade-clip-0.2`."""
    return re.sub(r"[^\w.]+", "-", label).strip("-")
