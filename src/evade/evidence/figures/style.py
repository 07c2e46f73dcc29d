"""The style of all figures: one colour, marker and line per variant, sized for one column of a paper.

The colours start from the palette of Okabe and Ito (2008), which people with colour blindness can tell apart; markers
and lines differ as well, so that no figure needs colour to be read.
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
from evade.evidence.published import METHODS
from evade.vocabulary.variants import VARIANTS, Line, Variant

FigureFormat = Literal["png", "pdf", "svg"]
"""The file formats of figures."""

COLUMN_WIDTH = 3.35
"""Inches: one column of a two-column paper."""
RESOLUTION = 200
"""Dots per inch of bitmaps."""
INK = "#222222"
"""Axes and text."""
GRID = "#E3E3E3"
"""Guide lines."""
FAINT = "#8A8A8A"
"""Secondary text and lines."""


class VariantStyle(NamedTuple):
    """The label, colour, marker and line of one variant or external method."""

    label: str
    colour: str
    marker: str
    line: Line


EXTERNAL: Mapping[str, VariantStyle] = {
    "simple15": VariantStyle(METHODS["simple15"], "#999999", "s", ":"),
    "curl": VariantStyle(METHODS["curl"], "#56B4E9", "P", "-."),
    "otrainbow": VariantStyle(METHODS["otrainbow"], "#E69F00", "X", ":"),
    "der": VariantStyle(METHODS["der"], "#8C6D00", "*", "-."),
    "random": VariantStyle("Random", "#BBBBBB", ".", ":"),
}
"""Methods that are none of our variants."""


def _style(variant: Variant) -> VariantStyle:
    return VariantStyle(variant.label, variant.colour, variant.marker, variant.line)


STYLES: Mapping[str, VariantStyle] = {
    **{variant.name: _style(variant) for variant in VARIANTS.values()},
    **{variant.paper_method: _style(variant) for variant in VARIANTS.values() if variant.paper_method},
    **EXTERNAL,
}
"""By variant, by the paper's method (`Variant.paper_method`) and by external method."""

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
    # Text is stored as text, not as outlines, so that it can be searched and edited.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "evade",
}


SPARE_COLOURS = ("#6A3D9A", "#17BECF", "#8C564B", "#B2182B", "#117733", "#332288", "#BCBD22", "#7F7F7F")
"""For names that have no colour of their own, or whose colour is taken."""
SPARE_MARKERS = "hpd<>8H1"

PAPER = "paper:"


def variant_style(variant: str) -> VariantStyle:
    """The style of one variant or method; an unknown one has the first spare colour and its name as label."""
    return styles_for([variant])[variant]


def styles_for(names: Sequence[str]) -> dict[str, VariantStyle]:
    """Styles for the names of one figure, no two of one colour as long as there are spare ones.

    A name is a variant or method, also with a prefix, `paper:simple30`, or details, `evade (quick)`. It has the style
    of its variant unless another name has it: first plain ones, then in the order of the figure.
    """
    styles: dict[str, VariantStyle] = {}
    for name in sorted(dict.fromkeys(names), key=lambda name: name not in STYLES):
        variant, *details = name.removeprefix(PAPER).partition(" (")
        known = STYLES.get(variant)
        label = (known.label if known else variant) + "".join(details)
        label = f"{label}, paper" if name.startswith(PAPER) else label
        taken = {style.colour for style in styles.values()}
        if known and known.colour not in taken:
            styles[name] = known._replace(label=label)
        else:
            number = len(styles)
            free = [colour for colour in SPARE_COLOURS if colour not in taken]
            colour = free[0] if free else SPARE_COLOURS[number % len(SPARE_COLOURS)]
            line = known.line if known else "-"
            styles[name] = VariantStyle(label, colour, SPARE_MARKERS[number % len(SPARE_MARKERS)], line)
    return {name: styles[name] for name in names}


def plain(name: str) -> str:
    """A name as text that matplotlib shows as it is: `$` does not begin a formula, and nothing controls a line."""
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)
    return shown.replace("$", r"\$")


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the common style inside the block; matplotlib's settings are restored after it."""
    with mpl.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure of a size in inches, with constrained layout and without a display."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label one row per name from top to bottom, with guide lines instead of a frame."""
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")


def save_figure(figure: Figure, path: Path) -> Path:
    """Save a figure in the format of the file's ending. The same figure gives the same bytes.

    Raises:
        FigureError: the ending is unknown, or the file cannot be written.
    """
    ending = path.suffix.lstrip(".")
    if ending not in get_args(FigureFormat):
        raise FigureError(f"Invalid figure file {path.name}: must end in .{', .'.join(get_args(FigureFormat))}.")
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[ending]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with house_style():
            figure.savefig(path, metadata=metadata)
    except OSError as error:
        raise FigureError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    return path
