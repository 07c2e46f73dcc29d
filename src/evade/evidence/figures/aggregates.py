"""Aggregates with their intervals: one panel for each metric, one bar for each variant."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.style import COLUMN_WIDTH, FAINT, INK, house_style, name_rows, new_figure, variant_style
from evade.evidence.stats import Interval, Metric, Scores, aggregate, bootstrap_intervals
from evade.evidence.stats.scores import has_spread

TITLES: Mapping[Metric, str] = {
    "mean": "Mean",
    "median": "Median",
    "iqm": "IQM",
    "optimality_gap": "Optimality gap ↓",
}
"""What stands above each panel."""


def draw_aggregates(
    methods: Mapping[str, Scores],
    metrics: Sequence[Metric] = ("mean", "median", "iqm", "optimality_gap"),
    *,
    axis_label: str = "Human-normalised score",
    num_resamples: int = 20_000,
    seed: int = 0,
) -> Figure:
    """Each metric's value as a stroke inside its 95 % interval.

    A variant with one score per game has no interval: it is drawn as its mark, and not at all in the panels of IQM
    and optimality gap, which speak of runs.

    Args:
        methods: normalised scores by variant, drawn from top to bottom.
        metrics: the panels, two in a row.
        axis_label: the unit of the scores.
        num_resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    if not methods:
        raise FigureError("there is nothing to draw: give the scores of at least one variant.")
    intervals = {
        name: bootstrap_intervals(scores, metrics, num_resamples=num_resamples, seed=seed)
        for name, scores in methods.items()
        if has_spread(scores)
    }
    columns = min(2, len(metrics))
    rows = -(-len(metrics) // columns)
    with house_style():
        figure = new_figure(COLUMN_WIDTH, rows * (0.5 + 0.15 * len(methods)) + 0.2)
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, metric in zip(panels.flat, metrics, strict=False):
            for place, (name, scores) in enumerate(methods.items()):
                value = aggregate(scores, metric)
                if name in intervals:
                    _draw_bar(axes, place, name, value, intervals[name][metric])
                elif metric in ("mean", "median"):
                    style = variant_style(name)
                    axes.plot(value, place, marker=style.marker, color=style.colour, markersize=4)
                else:
                    _note_absence(axes, place)
            _finish(axes, TITLES[metric], list(methods))
        for axes in panels.flat[len(metrics) :]:
            axes.set_visible(False)
        figure.supxlabel(axis_label, fontsize=7)
    return figure


def _draw_bar(axes: Axes, place: int, name: str, value: float, interval: Interval) -> None:
    colour = variant_style(name).colour
    axes.barh(place, interval.high - interval.low, left=interval.low, height=0.62, color=colour, alpha=0.75)
    axes.vlines(value, place - 0.31, place + 0.31, color=INK, linewidth=1.2)


def _note_absence(axes: Axes, place: int) -> None:
    across = axes.get_yaxis_transform()
    axes.text(0.02, place, "no single runs", transform=across, va="center", color=FAINT, fontsize=5.5)


def _finish(axes: Axes, title: str, names: list[str]) -> None:
    axes.set_title(title)
    name_rows(axes, [variant_style(name).label for name in names])
    axes.locator_params(axis="x", nbins=4)
    axes.use_sticky_edges = False
    axes.margins(x=0.1)
