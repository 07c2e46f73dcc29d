"""The tables that `evade benchmark` prints."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table

from evade.benchmark.cases import Case, updates_per_rollout
from evade.benchmark.precision import PrecisionOptions, PrecisionResult, PredictionGap
from evade.benchmark.report import Measurement, Report
from evade.viewing.formats import format_value

TASKS = {"fit": "fit step", "dream": "dream step", "loop": "dreams and PPO"}
GIGA, MEBI = 1e9, 2**20
WIDTH = 118
"""Width of the widest table in characters."""


def build_tables(report: Report) -> Iterator[RenderableType]:
    """All tables in order: the peaks, then for each size its steps, growth and memory."""
    yield _peaks(report)
    for size in report.options.sizes:
        rows = [each for each in report.measurements if each.case.size == size]
        yield _steps(report, size, [each for each in rows if not each.case.is_growth])
        yield _growth(report, size, rows)
        yield _memory(report, size)


def load_lines(report: Report) -> list[str]:
    """Lines about the machine's load, with a warning if it was not idle."""
    load = report.load
    averages = [" ".join(f"{number:.2f}" for number in each) for each in (load.at_start, load.at_end)]
    others = "" if load.others is None else f"; other processes used {load.others:.2f} cores"
    lines = [f"load average at start {averages[0]}, at end {averages[1]}{others}"]
    if load.is_disturbed:
        lines.append("WARNING: the machine was not idle, so these numbers are not reliable: repeat the benchmark.")
    return lines


def build_precision_table(options: PrecisionOptions, results: Sequence[PrecisionResult]) -> RenderableType:
    """Two rows for each precision that the model was fitted in: both precisions compared, and predictions and game."""
    title = f"{options.game}: share of predictions that differ, {options.frames} frames after {options.updates} updates"
    columns = ("fitted in", "compared", "loss", "values", "frames", "largest step", "rewards")
    table = _table(title, *columns, left=2)
    for result in results:
        loss = f"{result.loss:.4f}"
        table.add_row(result.fitted_in, "float32 with bfloat16", loss, *_gap_cells(result.rounding))
        table.add_row(result.fitted_in, "predictions with the game", loss, *_gap_cells(result.error))
    return table


def _gap_cells(gap: PredictionGap) -> list[str]:
    return [f"{gap.pixels:.4%}", f"{gap.frames:.1%}", f"{gap.largest_step}", f"{gap.rewards:.1%}"]


def _table(title: str, *columns: str, left: int) -> Table:
    table = Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", min_width=len(title)
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", no_wrap=True)
    return table


def _peaks(report: Report) -> RenderableType:
    table = _table("matrix products", "precision", "threads", "rows", "GFLOP/s", left=1)
    for product, summary in report.products.items():
        rate = product.flops / summary.median / GIGA
        table.add_row(product.precision, f"{product.threads}", f"{product.rows}", format_value(rate))
    return table


def _steps(report: Report, size: str, rows: Sequence[Measurement]) -> RenderableType:
    columns = ("step", "agent", "batch", "computed", "on", "median", "quartiles", "minimum", "n")
    table = _table(f"{size} size", *columns, "% of peak", "x plain", "over SimPLe", left=5)
    for _, group in groupby(rows, key=lambda row: (row.case.task, row.case.variant, row.case.batch)):
        for row in group:
            table.add_row(*_step_cells(report, row))
        table.add_section()
    return table


def _step_cells(report: Report, row: Measurement) -> list[str]:
    case, summary = row.case, row.summary
    unit, factor = ("/s", 1.0) if row.is_rate else ("ms", 1000.0)
    median, lower, upper, minimum = (
        format_value(factor * value)
        for value in (summary.median, summary.lower_quartile, summary.upper_quartile, summary.minimum)
    )
    speedup, over = report.speedup(row), report.event_cost(row)
    return [
        _name(case),
        case.variant,
        f"{case.batch}",
        case.contender.name,
        f"{case.processes} x {case.threads}",
        f"{median} {unit}",
        f"{lower}-{upper}",
        minimum,
        f"{summary.repeats}",
        f"{report.peak_share(row):.0%}",
        "" if speedup is None else f"{speedup:.2f}",
        "" if over is None else f"{over:+.0%}",
    ]


def _growth(report: Report, size: str, rows: Sequence[Measurement]) -> RenderableType:
    grown = [row for row in rows if row.case.is_growth]
    contender, variant = grown[0].case.contender, grown[0].case.variant
    chosen = [r for r in rows if (r.case.task, r.case.variant, r.case.contender) == ("dream", variant, contender)]
    chosen.sort(key=lambda row: (row.case.frame, row.case.batch))
    title = f"{size} size: scaling of a dream step ({variant}, {contender.name})"
    table = _table(title, "frame", "batch", "median ms", "ms per dream", "% of peak", left=1)
    for row in chosen:
        seconds = row.summary.median
        each = format_value(1000 * seconds / row.case.batch)
        cells = (format_value(1000 * seconds), each, f"{report.peak_share(row):.0%}")
        table.add_row(_frame(row.case), f"{row.case.batch}", *cells)
    return table


def _memory(report: Report, size: str) -> RenderableType:
    title = f"{size} size: memory of a process that runs only this step"
    table = _table(title, "step", "batch", "computed", "MiB before", "MiB peak", left=1)
    for case, memory in report.memory.items():
        if case.size == size:
            before, peak = (f"{number / MEBI:,.0f}" for number in (memory.before, memory.peak))
            table.add_row(_name(case), f"{case.batch}", case.contender.name, before, peak)
    return table


def _name(case: Case) -> str:
    return TASKS.get(case.task) or f"PPO, {updates_per_rollout(case)} updates"


def _frame(case: Case) -> str:
    return f"{case.frame[0]}x{case.frame[1]}"
