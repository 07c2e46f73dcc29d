"""Plot one run's learning curve: the mean score of every evaluation over real steps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from evade.errors import FigureError
from evade.evidence.figures.style import FAINT, INK, house_style, new_figure, plain, save_figure, variant_style
from evade.evidence.stats import Estimate, estimate

MANY_POINTS = 40
"""The number of evaluations from which single points are not marked."""


def plot_learning_curve(
    path: Path,
    steps: Sequence[int],
    scores: Sequence[Sequence[float]],
    *,
    title: str,
    random_score: float | None,
    reference: tuple[str, float] | None,
    final: tuple[int, Sequence[float]] | None = None,
    variant: str = "evade",
) -> None:
    """Save a run's learning curve as PNG; its errors are over the episodes of this one run.

    Args:
        path: the file, in .png.
        steps: real steps taken before each evaluation.
        scores: the score of every episode of each evaluation; evaluations may have different numbers of episodes.
        title: the title of the figure.
        random_score: mean score of random play, a dashed line; None for no line.
        reference: name and mean score of a method of the paper, another dashed line; None for no line.
        final: real steps and the score of every episode of the final evaluation, a point of its own; None for no point.
        variant: the variant whose colour the curve has.

    Raises:
        FigureError: an evaluation has no steps or no episodes, or the file cannot be written.
    """
    if not len(steps) == len(scores) > 0 or not all(len(evaluation) for evaluation in scores):
        raise FigureError(
            f"{len(steps)} step counts and scores of {[len(each) for each in scores]} episodes make no curve: "
            "give one step count and at least one episode per evaluation."
        )
    with house_style():
        figure = new_figure(6.4, 3.8)
        axes = figure.add_subplot()
        plot_curve(axes, steps, [estimate(evaluation) for evaluation in scores], variant_style(variant).colour)
        if final is not None:
            _plot_final(axes, final[0], estimate(final[1]), len(final[1]), variant_style(variant).colour)
        if random_score is not None:
            _plot_level(axes, "random play", random_score, FAINT)
        if reference is not None:
            _plot_level(axes, f"{reference[0]} in the paper", reference[1], INK)
        axes.set_title(plain(title))
        axes.legend(loc="best")
        save_figure(figure, path)


def plot_curve(axes: Axes, steps: Sequence[int], estimates: Sequence[Estimate], colour: str) -> None:
    """Plot means as a line and standard errors as a band around it; without an error the band has no height."""
    marker = "o" if len(steps) < MANY_POINTS else ""
    mean = np.array([each.mean for each in estimates])
    error = np.nan_to_num([each.standard_error for each in estimates])
    axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    axes.plot(steps, mean, color=colour, marker=marker, markersize=3.5, label="mean ± standard error over episodes")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("real steps")
    axes.set_ylabel("score per episode")


def _plot_final(axes: Axes, steps: int, found: Estimate, num_episodes: int, colour: str) -> None:
    label = f"final score: {found.show(2)} over {num_episodes} episodes"
    error = float(np.nan_to_num(found.standard_error))
    axes.errorbar(steps, found.mean, yerr=error, color=colour, ecolor=INK, fmt="*", ms=9, mec=INK, mew=0.6, label=label)


def _plot_level(axes: Axes, name: str, level: float, colour: str) -> None:
    axes.axhline(level, color=colour, linestyle="--", linewidth=1.2, label=f"{name}: {level:.4g}")
