"""How every figure looks: size, letters, and one colour for each variant everywhere."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evade.errors import FigureError
from evade.files import written_whole

VARIANT_COLOURS: Mapping[str, str] = {
    "simple": "#000000",
    "interaction": "#0072B2",
    "weighting": "#009E73",
    "translation": "#CC79A7",
    "evade": "#D55E00",
}
"""From the palette of Okabe and Ito (2008), which stays apart under the common colour blindnesses."""
INK = "#222222"
"""Axes and words."""
FAINT = "#8A8A8A"
"""Lines and words to compare with."""
RESOLUTION = 150
"""Dots per inch of bitmaps."""

_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": "#E3E3E3",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "savefig.dpi": RESOLUTION,
}


@contextmanager
def figure(width: float = 6.4, height: float = 3.8) -> Iterator[Figure]:
    """An empty figure of so many inches that needs no screen; what is drawn inside the block has the house's looks.

    Matplotlib's own settings come back after the block.
    """
    with mpl.rc_context(_SETTINGS):
        empty = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(empty)
        yield empty


def save_figure(drawn: Figure, path: Path) -> Path:
    """Write a figure as PNG; the same figure gives the same bytes.

    Raises:
        FigureError: the name does not end in .png, or the file cannot be written.
    """
    if path.suffix != ".png":
        raise FigureError(f"{path.name} cannot be written: end its name in .png.")
    try:
        with written_whole(path) as draft:
            drawn.savefig(draft, dpi=RESOLUTION, metadata={"Software": None})
    except OSError as error:
        raise FigureError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    return path
