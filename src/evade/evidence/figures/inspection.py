"""Figures of an `Inspection`: maps before and after event layers, rewards under draws, sigmas as heat maps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from evade.errors import FigureError
from evade.evidence.figures.style import FAINT, INK, house_style, new_figure, save_figure, variant_style
from evade.evidence.results.inspection import Inspection, MapChange, SigmaImage

PAGE_WIDTH = 6.9
"""Inches: both columns of a two-column paper."""
MAP_COLOURS, CHANGE_COLOURS, SIGMA_COLOURS = "cividis", "PuOr_r", "viridis"
"""All readable by people with colour blindness; the second one is white at 0."""
MAX_TICKS = 8
"""Numbered ticks on one axis of a heat map."""
MAX_LINES = 32
"""Blocks on one axis up to which they are separated by lines."""
STRIP_WIDTH = 0.6
"""Of an action's place on the axis, that its draws are spread over."""


def plot_inspection(inspection: Inspection) -> dict[str, Figure]:
    """All figures, by name: `maps-<stage>-<layer>`, `draws`, `sigma` and, with an event prior, `sigma-prior`."""
    figures = {}
    for stage, layer in dict.fromkeys((change.stage, change.layer) for change in inspection.changes):
        changes = [each for each in inspection.changes if (each.stage, each.layer) == (stage, layer)]
        figures[f"maps-{stage.replace(' ', '-')}-{layer}"] = plot_maps(inspection, changes)
    figures["draws"] = plot_draws(inspection)
    if inspection.sigmas:
        figures["sigma"] = plot_sigmas(inspection.sigmas, inspection.title)
    if inspection.prior_sigmas:
        figures["sigma-prior"] = plot_prior(inspection)
    return figures


def write_figures(inspection: Inspection, folder: Path) -> list[Path]:
    """Write all figures into a folder, each as PNG and SVG, and return their paths."""
    paths = []
    for name, figure in plot_inspection(inspection).items():
        paths.append(save_figure(figure, folder / f"{name}.png"))
        figure.set_layout_engine("none")  # the places are found; finding them again takes most of the time
        paths.append(save_figure(figure, folder / f"{name}.svg"))
    return paths


def plot_maps(inspection: Inspection, changes: Sequence[MapChange]) -> Figure:
    """Input frame, map before, map after and difference; one row for each change.

    Before and after share a scale, so that a brighter map is a larger one. The difference is white where nothing
    changes.
    """
    if not changes:
        raise FigureError("Invalid maps: give at least one layer.")
    with house_style():
        figure = new_figure(PAGE_WIDTH, 0.35 + 1.55 * len(changes))
        figure.suptitle(
            f"{inspection.title}: frame {inspection.frame:,}, action {inspection.action}, {inspection.draw}"
        )
        grid = figure.subplots(len(changes), 4, squeeze=False)
        for row, change in zip(grid, changes, strict=True):
            _plot_change(row, inspection, change)
        for axes, heading in zip(
            grid[0], ("input frame", "before", "after", "after \N{MINUS SIGN} before"), strict=True
        ):
            axes.set_title(heading)
    return figure


def _plot_change(row: Sequence[Axes], inspection: Inspection, change: MapChange) -> None:
    which = "changes most" if change.is_largest else "chosen"
    _show_picture(row[0], inspection)
    row[0].set_ylabel(f"{change.layer}\n{change.stage}\nchannel {change.channel}\n({which})")
    lowest = min(change.before.min(), change.after.min())
    highest = max(change.before.max(), change.after.max())
    for axes, values in ((row[1], change.before), (row[2], change.after)):
        shown = axes.imshow(values, cmap=MAP_COLOURS, vmin=lowest, vmax=highest, interpolation="nearest")
    _add_scale(row[2], shown)
    if (factor := _find_factor(change)) is not None:
        row[2].set_xlabel(f"after = {factor:.2f} \N{MULTIPLICATION SIGN} before", labelpad=2)
    difference = change.after - change.before
    # An even scale around 0; its width must not be 0 where nothing changes.
    size = max(float(np.abs(difference).max()), 1e-12)
    shown = row[3].imshow(difference, cmap=CHANGE_COLOURS, vmin=-size, vmax=size, interpolation="nearest")
    _add_scale(row[3], shown)
    for axes in row[1:]:
        _hide_ticks(axes)


def _find_factor(change: MapChange) -> float | None:
    """The factor between the two maps, as a weighting layer has; None if one map is no multiple of the other."""
    before, after = change.before.astype(float), change.after.astype(float)
    if not before.any():
        return None
    factor = float((before * after).sum() / np.square(before).sum())
    is_multiple = np.allclose(after, factor * before, rtol=1e-3, atol=1e-5 * np.abs(after).max())
    return factor if is_multiple else None


def plot_draws(inspection: Inspection) -> Figure:
    """The input frame, and the expected reward of each action under the mean and under each draw."""
    colour = variant_style(inspection.variant).colour
    num_draws, num_actions = inspection.draws.shape
    with house_style():
        figure = new_figure(PAGE_WIDTH, 2.5)
        left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
        _show_picture(left, inspection)
        left.set_title(f"frame {inspection.frame:,}")
        offsets = STRIP_WIDTH * (np.arange(num_draws) / max(num_draws - 1, 1) - 0.5)
        for action in range(num_actions):
            label = f"{num_draws} draws" if action == 0 else None
            values = inspection.draws[:, action]
            right.scatter(action + offsets, values, s=9, color=colour, alpha=0.8, linewidths=0, label=label)
            spread = values.std(ddof=1) if num_draws > 1 else 0.0
            right.annotate(
                f"±{spread:.2g}", (action, 1.01), xycoords=("data", "axes fraction"), ha="center", color=FAINT, size=6
            )
        ends = np.arange(num_actions) - STRIP_WIDTH / 1.6, np.arange(num_actions) + STRIP_WIDTH / 1.6
        right.hlines(inspection.mean, *ends, color=INK, linewidth=1.2, label="mean model")
        right.set(xlabel="action", ylabel="expected reward", xlim=(-0.6, num_actions - 0.4))
        right.set_xticks(range(num_actions))
        right.set_title(f"{inspection.title}\n(above each action: standard deviation over draws)", pad=14)
        right.grid(visible=True, axis="y")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_prior(inspection: Inspection) -> Figure:
    """Heat maps of the event prior's sigmas, which are 1 for events that were never seen."""
    return plot_sigmas(inspection.prior_sigmas, f"{inspection.title}: event prior (1: never seen)", highest=1.0)


def plot_sigmas(images: Sequence[SigmaImage], title: str, *, highest: float | None = None) -> Figure:
    """Heat maps of |sigma| on one scale.

    Args:
        images: one for each layer.
        title: of the figure.
        highest: the end of the scale; None for the largest sigma.
    """
    if not images:
        raise FigureError("Invalid sigmas: give at least one layer.")
    columns = min(len(images), 3)
    rows = -(-len(images) // columns)
    largest = max(float(image.values.max()) for image in images) if highest is None else highest
    with house_style():
        figure = new_figure(PAGE_WIDTH, 0.5 + 1.75 * rows)
        figure.suptitle(title)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, image in zip(grid.flat, images, strict=False):
            shown = axes.imshow(
                image.values,
                cmap=SIGMA_COLOURS,
                vmin=0,
                vmax=max(largest, 1e-12),
                interpolation="nearest",
                aspect="auto",
            )
            axes.set(title=image.title, xlabel=image.columns, ylabel=image.rows)
            _mark_blocks(axes, image)
        for axes in grid.flat[len(images) :]:
            axes.set_visible(False)
        figure.colorbar(shown, ax=grid, label="|sigma|", shrink=0.8, aspect=30)
    return figure


def _mark_blocks(axes: Axes, image: SigmaImage) -> None:
    """Number or name the blocks of an image, and separate large ones by lines."""
    for axis, length, size, names in (
        (axes.yaxis, image.values.shape[0], image.block[0], ()),
        (axes.xaxis, image.values.shape[1], image.block[1], image.names),
    ):
        count = length // size
        shown = range(count) if names else range(0, count, -(-count // MAX_TICKS))
        labels = [names[index] if names else f"{index}" for index in shown]
        axis.set_ticks([(index + 0.5) * size - 0.5 for index in shown], labels if count > 1 else [""])
        axis.set_tick_params(length=0)
    rows, columns = image.values.shape
    if min(image.block) > 2 and max(rows // image.block[0], columns // image.block[1]) <= MAX_LINES:
        lines: dict[str, Any] = {"color": "white", "linewidth": 0.4}
        axes.hlines(np.arange(image.block[0], rows, image.block[0]) - 0.5, -0.5, columns - 0.5, **lines)
        axes.vlines(np.arange(image.block[1], columns, image.block[1]) - 0.5, -0.5, rows - 0.5, **lines)


def _show_picture(axes: Axes, inspection: Inspection) -> None:
    axes.imshow(inspection.picture, interpolation="nearest")
    _hide_ticks(axes)


def _hide_ticks(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)


def _add_scale(axes: Axes, shown: AxesImage) -> None:
    bar = axes.figure.colorbar(shown, ax=axes, fraction=0.046, pad=0.04)
    bar.ax.tick_params(labelsize=5.5, length=1.5)
    bar.locator = MaxNLocator(4)
    bar.update_ticks()
