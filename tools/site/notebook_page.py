"""A notebook run without Jupyter: its cells in one namespace, with what they print and plot."""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """One cell after its run."""

    kind: str
    """`markdown` or `code`."""
    source: str
    printed: str
    figures: list[bytes]
    """PNG files of the figures that the cell left open."""


def run_notebook(path: Path) -> list[Ran]:
    """Run all cells in order, as a notebook does; an error ends it."""
    os.environ.setdefault("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return [_run_cell(cell, namespace, path) for cell in json.loads(path.read_text())["cells"]]


def _run_cell(cell: dict[str, Any], namespace: dict[str, Any], path: Path) -> Ran:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return Ran("markdown", source, "", [])
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(source, f"{path.name} [{cell['id']}]", "exec"), namespace)  # noqa: S102 (our own notebook)
    return Ran("code", source, output.getvalue(), _take_figures())


def _take_figures() -> list[bytes]:
    from matplotlib import pyplot

    pictures = []
    for number in pyplot.get_fignums():
        data = io.BytesIO()
        pyplot.figure(number).savefig(data, format="png", dpi=110, bbox_inches="tight")
        pictures.append(data.getvalue())
    pyplot.close("all")
    return pictures


def to_page(cells: list[Ran], name: str) -> tuple[str, dict[str, bytes]]:
    """The notebook as a Markdown page, and its figures by their file names."""
    parts, pictures = [], {}
    for cell in cells:
        if cell.kind == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if cell.printed:
            parts.append(f"```text\n{cell.printed.rstrip()}\n```")
        for figure in cell.figures:
            file = f"{name}-{len(pictures) + 1}.png"
            pictures[file] = figure
            parts.append(f"![What the cell above plots]({file})")
    return "\n\n".join(parts) + "\n", pictures
