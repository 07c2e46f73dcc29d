"""Plot performance profiles: the share of runs above each score."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.style import COLUMN_WIDTH, house_style, new_figure, plain, styles_for
from evade.evidence.stats import Scores, profile_with_band


def plot_profiles(
    methods: Mapping[str, Scores],
    *,
    highest: float = 2.0,
    axis_label: str = "Human-normalised score",
    num_resamples: int = 2_000,
    seed: int = 0,
) -> Figure:
    """Plot one decreasing line per variant with its 95 % band; higher is better.

    Args:
        methods: normalised scores by variant; each needs several runs of some game.
        highest: the right end of the score axis.
        axis_label: the label of the score axis.
        num_resamples: bootstrap resamples.
        seed: seed of the bootstrap.
    """
    if not methods:
        raise FigureError("there is nothing to plot: give the scores of at least one variant.")
    thresholds = np.linspace(0, highest, 401)
    with house_style():
        figure = new_figure(COLUMN_WIDTH, 2.2)
        axes = figure.subplots()
        styles = styles_for(list(methods))
        for name, scores in methods.items():
            style = styles[name]
            profile = profile_with_band(scores, thresholds, num_resamples=num_resamples, seed=seed)
            axes.fill_between(thresholds, profile.low, profile.high, color=style.colour, alpha=0.13, linewidth=0)
            axes.plot(thresholds, profile.share, color=style.colour, linestyle=style.line, label=plain(style.label))
        axes.set_xlim(0, highest)
        axes.set_ylim(0, 1)
        axes.set_xlabel(f"{axis_label} $\\tau$")
        axes.set_ylabel("Share of runs above $\\tau$")
        axes.legend(loc="upper right", handlelength=3.2)
        axes.grid(visible=True)
    return figure
