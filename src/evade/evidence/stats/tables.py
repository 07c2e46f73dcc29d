r"""Tables in five formats: text, Markdown, LaTeX, CSV, JSON.

Text, Markdown and LaTeX round their numbers; CSV and JSON keep every digit. A compound cell (an estimate, an interval,
a record) is one cell in the first three, several columns in CSV and an object in JSON.
"""

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, Protocol, TypeAlias, get_args

from evade.errors import TableError

TableFormat = Literal["text", "markdown", "latex", "csv", "json"]
"""The formats a table can be rendered in."""

LONGEST_TEXT_CELL = 32
"""Characters after which the text format wraps a cell."""


class Compound(Protocol):
    """A cell of several numbers: a named tuple with a text form."""

    def show(self, digits: int) -> str:
        """Format the cell with `digits` decimals."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


Cell: TypeAlias = str | int | float | Compound | None
"""The value of a cell. None and NaN mean "unknown"."""


@dataclass(frozen=True)
class Column:
    """One column."""

    heading: str
    """As text, Markdown and LaTeX show it."""
    name: str
    """Its key in CSV and JSON, unique in the table."""
    digits: int = 3
    """Decimals of its numbers in text, Markdown and LaTeX."""


@dataclass(frozen=True)
class Table:
    """Columns, rows of cells, a title and notes."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise TableError(f"{self.title}: a row has {len(row)} cells, must be {len(self.columns)}: {row}.")
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise TableError(f"{self.title}: column names must be unique, got {names}.")

    def render(self, form: TableFormat) -> str:
        """Render the table in one format, without a final line break."""
        if form not in RENDERERS:
            raise TableError(f"Invalid table format {form!r}: choose one of {', '.join(get_args(TableFormat))}.")
        return RENDERERS[form](self)

    def column(self, name: str) -> list[Cell]:
        """All cells of the column with this name."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise TableError(f"{self.title} has no column {name!r}: choose one of {', '.join(names)}.")
        return [row[names.index(name)] for row in self.rows]


def interval_columns(names: Mapping[str, str]) -> list[Column]:
    """For each heading and name, a column of values followed by one of their intervals."""
    return [
        column
        for heading, name in names.items()
        for column in (Column(heading, name), Column("95 %", f"{name}_interval"))
    ]


def render_tables(tables: Mapping[str, Table], form: TableFormat) -> str:
    """Render several tables as one text; JSON holds them by name, CSV holds exactly one."""
    if form == "csv" and len(tables) != 1:
        first = next(iter(tables), "NAME")
        raise TableError(f"csv holds one table, got {len(tables)}: choose one, as in --table {first}.")
    if form == "json":
        plain = {name: to_plain(table) for name, table in tables.items()}
        return json.dumps(plain, indent=2, ensure_ascii=False)
    return "\n\n".join(table.render(form) for table in tables.values())


def show_cell(cell: Cell, digits: int) -> str:
    """Format a cell, rounding its numbers to `digits` decimals."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, str | int):
        return str(cell)
    return f"{cell:.{digits}f}" if isinstance(cell, float) else cell.show(digits)


def _shown_rows(table: Table, escape: Callable[[str], str]) -> list[list[str]]:
    headings = [escape(column.heading) for column in table.columns]
    body = [
        [escape(show_cell(cell, column.digits)) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return [headings, *body]


def _render_text(table: Table) -> str:
    is_label = _label_columns(table)
    headings, *body = _shown_rows(table, _one_line)
    lines = [line for row in body for line in _wrap(row)]
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]

    def align(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(cells, widths, is_label, strict=True)
        ]
        return "  ".join(padded).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([table.title, rule, align(headings), rule, *map(align, lines), rule, *table.notes])


def _wrap(row: list[str]) -> list[tuple[str, ...]]:
    """Split a row into lines: long cells are wrapped."""
    wrapped = [textwrap.wrap(cell, LONGEST_TEXT_CELL, break_on_hyphens=False) or [""] for cell in row]
    return list(zip_longest(*wrapped, fillvalue=""))


def _render_markdown(table: Table) -> str:
    headings, *body = _shown_rows(table, _escape_markdown)
    marks = [":--" if left else "--:" for left in _label_columns(table)]
    lines = [f"| {' | '.join(cells)} |" for cells in [headings, marks, *body]]
    notes = [f"\n{_escape_markdown(note)}" for note in table.notes]
    return "\n".join([f"**{_escape_markdown(table.title)}**", "", *lines, *notes])


def _render_latex(table: Table) -> str:
    headings, *body = [" & ".join(cells) + r" \\" for cells in _shown_rows(table, _escape_latex)]
    layout = "".join("l" if left else "r" for left in _label_columns(table))
    caption = " ".join(_escape_latex(sentence) for sentence in [f"{table.title}.", *table.notes])
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{caption}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            headings,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _render_csv(table: Table) -> str:
    fields = [_fields(table, index) for index in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        f"{column.name}_{field}" if field else column.name
        for column, names in zip(table.columns, fields, strict=True)
        for field in names
    )
    for row in table.rows:
        parts = [_parts(cell) for cell in row]
        writer.writerow(part.get(field) for part, names in zip(parts, fields, strict=True) for field in names)
    return out.getvalue().rstrip("\n")


def _render_json(table: Table) -> str:
    return json.dumps(to_plain(table), indent=2, ensure_ascii=False)


def to_plain(table: Table) -> dict[str, Any]:
    """Convert the table to JSON values: lists, dictionaries, numbers and text."""
    names = [column.name for column in table.columns]
    rows = [{name: _plain(cell) for name, cell in zip(names, row, strict=True)} for row in table.rows]
    return {"title": table.title, "rows": rows, "notes": list(table.notes)}


def _plain(cell: Cell) -> Any:
    parts = _parts(cell)
    return parts.get("", parts)


def _fields(table: Table, index: int) -> list[str]:
    """The names of the parts of one column's cells: `[""]` if none is compound."""
    names = dict.fromkeys(name for row in table.rows if row[index] is not None for name in _parts(row[index]))
    return list(names) or [""]


def _parts(cell: Cell) -> Mapping[str, Any]:
    """A cell's values by name; a simple cell has one with an empty name. NaN becomes None: JSON has no NaN."""
    values = {"": cell} if cell is None or isinstance(cell, str | int | float) else cell._asdict()
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def _label_columns(table: Table) -> list[bool]:
    """Which columns hold words and are aligned to the left."""
    return [
        any(isinstance(row[i], str) and not _is_number(row[i]) for row in table.rows) for i in range(len(table.columns))
    ]


def _is_number(cell: Cell) -> bool:
    """Whether a text is a number, such as one quoted from the paper with its printed digits."""
    return isinstance(cell, str) and re.fullmatch(r"-?\d+(\.\d+)?", cell) is not None


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", _one_line(text))


def _escape_latex(text: str) -> str:
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
    }
    return re.sub(r"[\\~^±&%$#_{}]", lambda match: special.get(match[0], "\\" + match[0]), _one_line(text))


RENDERERS: dict[TableFormat, Callable[[Table], str]] = {
    "text": _render_text,
    "markdown": _render_markdown,
    "latex": _render_latex,
    "csv": _render_csv,
    "json": _render_json,
}
"""The function of each format."""
