"""One run's learning curve: mean return of every evaluation over real steps."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from evade.errors import FigureError
from evade.evidence.figures.style import FAINT, INK, house_style, new_figure, save_figure, variant_style

MANY_POINTS = 40
"""From so many evaluations on, single points are no longer marked."""


class Curve(NamedTuple):
    """What the curve shows of each evaluation."""

    mean: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    """Sample deviation over the root of the number of episodes; 0 for a single episode."""


def compute_curve(returns: Sequence[Sequence[float]]) -> Curve:
    """Mean and standard error over the episodes of each evaluation; evaluations may differ in length."""
    episodes = [np.asarray(evaluation, np.float64) for evaluation in returns]
    errors = [each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in episodes]
    return Curve(np.array([each.mean() for each in episodes]), np.array(errors))


def plot_learning_curve(
    path: Path,
    steps: Sequence[int],
    returns: Sequence[Sequence[float]],
    *,
    title: str,
    random_score: float | None,
    reference: tuple[str, float] | None,
    variant: str = "evade",
) -> None:
    """Draw a run's learning curve as PNG.

    Args:
        path: the file, in .png.
        steps: real steps taken before each evaluation.
        returns: the return of every episode of each evaluation.
        title: what was trained.
        random_score: mean return of random play, a dashed line; None for no line.
        reference: name and mean return of something to compare with, another dashed line.
        variant: whose colour the curve has.

    Raises:
        FigureError: the evaluations do not fit together, or the file cannot be written.
    """
    if not len(steps) == len(returns) > 0 or not all(len(evaluation) for evaluation in returns):
        raise FigureError(
            f"{len(steps)} step counts and returns of {[len(each) for each in returns]} episodes make no curve: "
            "give one count and at least one episode for each evaluation."
        )
    with house_style():
        drawn = new_figure(6.4, 3.8)
        axes = drawn.add_subplot()
        draw_learning_curve(axes, steps, compute_curve(returns), variant_style(variant).colour)
        if random_score is not None:
            _draw_level(axes, "random", random_score, FAINT)
        if reference is not None:
            _draw_level(axes, *reference, INK)
        axes.set_title(title)
        axes.legend(loc="best")
        save_figure(drawn, path)


def draw_learning_curve(axes: Axes, steps: Sequence[int], curve: Curve, colour: str) -> None:
    """Draw the mean as a line and the standard error as a band around it."""
    marker = "o" if len(steps) < MANY_POINTS else ""
    low, high = curve.mean - curve.standard_error, curve.mean + curve.standard_error
    axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(steps, curve.mean, color=colour, marker=marker, markersize=3.5, label="mean return ± standard error")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("real steps")
    axes.set_ylabel("return per episode")


def _draw_level(axes: Axes, name: str, level: float, colour: str) -> None:
    axes.axhline(level, color=colour, linestyle="--", linewidth=1.2, label=f"{name}: {level:.4g}")
