"""Plot several quantities over time in one figure, each a line with a standard-error band."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from evade.errors import FigureError
from evade.evidence.figures.style import COLUMN_WIDTH, VariantStyle, house_style, new_figure, plain


class History(NamedTuple):
    """One line of the figure."""

    label: str
    style: VariantStyle
    """Its colour and marker."""
    places: Sequence[int]
    mean: Sequence[float]
    standard_error: Sequence[float]
    """Half the height of the band; 0 for none."""
    faint: bool = False
    """Dashed and without marker, for the second line of a pair in one colour."""


def plot_histories(histories: Sequence[History], *, title: str, x_label: str, y_label: str) -> Figure:
    """Plot each line in its colour with a band of one standard error to either side."""
    if not any(line.places for line in histories):
        raise FigureError("there is nothing to plot: give at least one line with one point.")
    with house_style():
        figure = new_figure(COLUMN_WIDTH, 2.4)
        axes = figure.subplots()
        for line in histories:
            style = line.style
            pattern = (0, (2, 1.5)) if line.faint else style.line
            low = [mean - error for mean, error in zip(line.mean, line.standard_error, strict=True)]
            high = [mean + error for mean, error in zip(line.mean, line.standard_error, strict=True)]
            axes.fill_between(line.places, low, high, color=style.colour, alpha=0.18, linewidth=0)
            (artist,) = axes.plot(
                line.places, line.mean, label=plain(line.label), color=style.colour, linestyle=pattern
            )
            if line.faint:
                artist.set_alpha(0.65)
            else:
                artist.set(marker=style.marker, markersize=3)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.grid(visible=True, axis="y")
        axes.set(title=plain(title), xlabel=x_label, ylabel=y_label)
        # Below the axes, where no line crosses it; faint lines in a separate column.
        handles = [line for _, line in sorted(enumerate(axes.lines), key=lambda pair: histories[pair[0]].faint)]
        columns = 2 if any(line.faint for line in histories) else 3
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure
