"""Plot aggregates with their intervals: one panel per aggregate, one bar per variant."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.style import (
    COLUMN_WIDTH,
    FAINT,
    INK,
    PAPER,
    VariantStyle,
    house_style,
    name_rows,
    new_figure,
    styles_for,
)
from evade.evidence.stats import Interval, Metric, Scores, aggregate, bootstrap_intervals
from evade.evidence.stats.scores import MIN_RUNS, has_enough_runs

TITLES: Mapping[Metric, str] = {
    "mean": "Mean",
    "median": "Median",
    "iqm": "IQM",
    "optimality_gap": "Optimality gap ↓",
}
"""The titles of the panels; the arrow marks that lower is better."""


def plot_aggregates(
    methods: Mapping[str, Scores],
    metrics: Sequence[Metric] = ("mean", "median", "iqm", "optimality_gap"),
    *,
    axis_label: str = "Human-normalised score",
    is_published: bool = False,
    num_resamples: int = 20_000,
    seed: int = 0,
) -> Figure:
    """Plot each aggregate as a line inside its 95 % interval.

    A variant with fewer than three runs of a game has no interval and is plotted as its marker. A method of which only
    means are published is also left out of the panels of IQM and optimality gap, which need single runs.

    Args:
        methods: normalised scores by variant, plotted from top to bottom.
        metrics: the panels, two in a row.
        axis_label: the label of the score axis.
        is_published: all scores are printed ones; otherwise those of names such as `paper:simple15` are.
        num_resamples: bootstrap resamples.
        seed: seed of the bootstrap.
    """
    if not methods:
        raise FigureError("there is nothing to plot: give the scores of at least one variant.")
    intervals = {
        name: bootstrap_intervals(scores, metrics, num_resamples=num_resamples, seed=seed)
        for name, scores in methods.items()
        if has_enough_runs(scores)
    }
    printed = [name for name in methods if is_published or name.startswith(PAPER)]
    only_means = [name for name in printed if all(len(runs) == 1 for runs in methods[name].values())]
    styles = styles_for(list(methods))
    columns = min(2, len(metrics))
    rows = -(-len(metrics) // columns)
    with house_style():
        figure = new_figure(COLUMN_WIDTH, rows * (0.5 + 0.15 * len(methods)) + 0.3)
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes, metric in zip(panels.flat, metrics, strict=False):
            for row, (name, scores) in enumerate(methods.items()):
                value = aggregate(scores, metric)
                if name in intervals:
                    _plot_bar(axes, row, styles[name], value, intervals[name][metric])
                elif name in only_means and metric not in ("mean", "median"):
                    _note_absence(axes, row)
                else:
                    axes.plot(value, row, marker=styles[name].marker, color=styles[name].colour, markersize=4)
            _finish(axes, TITLES[metric], [style.label for style in styles.values()])
        for axes in panels.flat[len(metrics) :]:
            axes.set_visible(False)
        few = [name for name in methods if name not in intervals]
        rule = f"marker: fewer than {MIN_RUNS} runs of a game, no interval" if few else ""
        figure.supxlabel("\n".join(filter(None, [axis_label, rule])), fontsize=7)
    return figure


def _plot_bar(axes: Axes, row: int, style: VariantStyle, value: float, interval: Interval) -> None:
    colour = style.colour
    axes.barh(row, interval.high - interval.low, left=interval.low, height=0.62, color=colour, alpha=0.75)
    axes.vlines(value, row - 0.31, row + 0.31, color=INK, linewidth=1.2)


def _note_absence(axes: Axes, row: int) -> None:
    across = axes.get_yaxis_transform()
    axes.text(0.02, row, "only means published", transform=across, va="center", color=FAINT, fontsize=5.5)


def _finish(axes: Axes, title: str, labels: list[str]) -> None:
    axes.set_title(title)
    name_rows(axes, labels)
    axes.locator_params(axis="x", nbins=4)
    axes.use_sticky_edges = False
    axes.margins(x=0.1)
