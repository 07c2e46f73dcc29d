"""How every figure looks: one colour, mark and line for each variant everywhere, sized for one column of a paper.

The colours start from the palette of Okabe and Ito (2008), which stays apart under the common colour blindnesses;
marks and lines differ as well, so that no figure needs colour to be read.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evade.errors import FigureError

FigureFormat = Literal["png", "pdf", "svg"]
"""The kinds of file a figure can be written to."""

COLUMN_WIDTH = 3.35
"""Inches: one column of a two-column paper."""
RESOLUTION = 200
"""Dots per inch of bitmaps."""
INK = "#222222"
"""Axes and words."""
GRID = "#E3E3E3"
"""Lines that only guide the eye."""
FAINT = "#8A8A8A"
"""Words that only explain."""


class VariantStyle(NamedTuple):
    """How one variant is drawn."""

    label: str
    colour: str
    marker: str
    line: str | tuple[float, tuple[float, ...]]
    """As matplotlib names it: a pattern, or an offset with lengths of ink and gap."""


_SIMPLE = VariantStyle("SimPLe(30)", "#4D4D4D", "s", "--")
_INTERACTION = VariantStyle("Interaction", "#0072B2", "^", "-.")
_WEIGHTING = VariantStyle("Weighting", "#009E73", "v", ":")
_TRANSLATION = VariantStyle("Translation", "#CC79A7", "D", (0.0, (6.0, 1.0, 1.0, 1.0, 1.0, 1.0)))

VARIANTS: Mapping[str, VariantStyle] = {
    "simple": _SIMPLE,
    "simple30": _SIMPLE,
    "evade": VariantStyle("EVaDE-SimPLe", "#D55E00", "o", "-"),
    "interaction": _INTERACTION,
    "evade-interaction": _INTERACTION,
    "weighting": _WEIGHTING,
    "evade-weighting": _WEIGHTING,
    "translation": _TRANSLATION,
    "evade-translation": _TRANSLATION,
    "simple15": VariantStyle("SimPLe", "#999999", "s", ":"),
    "curl": VariantStyle("CURL", "#56B4E9", "P", "-."),
    "otrainbow": VariantStyle("OTRainbow", "#E69F00", "X", ":"),
    "der": VariantStyle("Eff. Rainbow", "#8C6D00", "*", "-."),
    "random": VariantStyle("Random", "#BBBBBB", ".", ":"),
}
"""Every variant that has a colour of its own, by our name and by the one `published` has for the paper's agent."""

_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "figure.dpi": RESOLUTION,
    # Letters stay letters, so that text in a figure can be searched and edited.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "evade",
}


def variant_style(variant: str) -> VariantStyle:
    """How a variant is drawn; one that is not listed is a grey named by itself."""
    return VARIANTS.get(variant, VariantStyle(variant, "#7F7F7F", "h", "-"))


@contextmanager
def house_style() -> Iterator[None]:
    """Make figures inside the block look as all others; matplotlib's own settings come back after it."""
    with mpl.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches that needs no screen; its parts arrange themselves."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """One row for each name from top to bottom, with guide lines instead of a frame."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure; the file's ending says how. The same figure gives the same bytes.

    Raises:
        FigureError: the ending is not a known one, or the file cannot be written.
    """
    ending = path.suffix.lstrip(".")
    if ending not in get_args(FigureFormat):
        raise FigureError(f"{path.name} cannot be written: end its name in .{', .'.join(get_args(FigureFormat))}.")
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[ending]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with house_style():
            figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise FigureError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    return path
