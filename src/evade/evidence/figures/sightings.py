"""A posterior's learning curve: what draws say of an event after it has been seen some number of times."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.evidence.figures.style import COLUMN_WIDTH, FAINT, INK, house_style, new_figure, plain, variant_style


def plot_sightings(
    num_seen: Sequence[int],
    spread: Sequence[float],
    ordinary_spread: Sequence[float],
    mean: Sequence[float],
    *,
    title: str,
    variant: str,
) -> Figure:
    """Plot the spread over draws of events and of ordinary steps, and the mean model's reward, against sightings.

    Args:
        num_seen: how often the event had been seen, rising.
        spread: over draws, of held-out events.
        ordinary_spread: of ordinary steps.
        mean: expected reward of the events under the mean model.
        title: what was measured.
        variant: whose colour the curve has.
    """
    if not len(num_seen) == len(spread) == len(ordinary_spread) == len(mean) > 0:
        raise FigureError("Invalid curve: give one spread, ordinary spread and mean for each number of sightings.")
    style = variant_style(variant)
    with house_style():
        figure = new_figure(COLUMN_WIDTH, 2.4)
        axes = figure.subplots()
        axes.plot(num_seen, spread, color=style.colour, marker=style.marker, markersize=3, label="spread, events")
        axes.plot(num_seen, ordinary_spread, color=FAINT, linestyle=":", marker=".", label="spread, ordinary steps")
        axes.plot(num_seen, mean, color=INK, linestyle="--", label="mean, events")
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xticks(list(num_seen), [str(count) for count in num_seen])
        axes.set(title=plain(title), xlabel="times the event was seen", ylabel="reward")
        axes.grid(visible=True, axis="y")
        figure.legend(loc="outside lower center", ncols=3)
    return figure
