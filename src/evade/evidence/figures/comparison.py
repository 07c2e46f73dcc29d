"""The figures of a comparison of our runs: the same as the paper's, one set for each suite with a scale."""

from collections.abc import Iterator
from math import ceil
from pathlib import Path

from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.aggregates import draw_aggregates
from evade.evidence.figures.per_game import draw_improvement
from evade.evidence.figures.profiles import draw_profiles
from evade.evidence.figures.style import FigureFormat, save_figure
from evade.evidence.results.compare import Comparison
from evade.evidence.results.suites import SuiteScores
from evade.evidence.stats import Scores
from evade.evidence.stats.scores import has_spread


def save_comparison_figures(
    comparison: Comparison, folder: Path, form: FigureFormat = "png", seed: int = 0
) -> list[Path]:
    """Draw what the runs allow and write it into a folder, which is made when it does not exist.

    Profiles need two runs of some game, and the improvement over the baseline two runs of every game of both.

    Raises:
        FigureError: no game has a normalised score, or a file cannot be written.
    """
    figures = [drawn for scores in comparison.suites if scores.suite.scale for drawn in _draw(comparison, scores, seed)]
    if not figures:
        raise FigureError("there is nothing to draw: none of these games has reference scores to normalise with.")
    return [save_figure(figure, folder / f"{name}.{form}") for name, figure in figures]


def _draw(comparison: Comparison, scores: SuiteScores, seed: int) -> Iterator[tuple[str, Figure]]:
    """Each figure of one suite with the name of its file."""
    suite, scale = scores.suite.name, scores.suite.scale
    label = scale[0].upper() + scale[1:]
    yield f"{suite}-aggregates", draw_aggregates(scores.normalised, axis_label=label, seed=seed)
    spread = {variant: games for variant, games in scores.normalised.items() if has_spread(games)}
    if spread:
        best = max(max(runs) for games in spread.values() for runs in games.values())
        highest = min(2.0, max(0.5, ceil(2 * best) / 2))
        yield f"{suite}-profile", draw_profiles(spread, highest=highest, axis_label=label, seed=seed)
    for variant in scores.raw:
        mine, other = scores.shared(variant, comparison.baseline or "")
        if variant != comparison.baseline and mine and _is_repeated(mine) and _is_repeated(other):
            names = (variant, str(comparison.baseline))
            figure = draw_improvement(mine, other, names, axis_label=scale, seed=seed)
            yield f"{suite}-improvement-{variant}", figure


def _is_repeated(scores: Scores) -> bool:
    return all(len(runs) > 1 for runs in scores.values())
