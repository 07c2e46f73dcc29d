"""`evade benchmark`: how fast this machine fits and dreams, and what bfloat16 changes."""

from pathlib import Path
from typing import Literal

from evade.checks import require
from evade.config.run import MAX_THREADS


def benchmark(
    size: Literal["all", "paper", "minatar"] = "all",
    repeats: int | None = None,
    threads: int = 0,
    quick: bool = False,
    compile: bool = True,
    precision: str | None = None,
    json: Path | None = None,
) -> int:
    """Time fit steps, dream steps and PPO against this machine's matrix peak and a plain network. Takes minutes.

    Args:
        size: the networks to measure: the paper's, those of the MinAtar preset, or both.
        repeats: rounds, each with one sample of every case; default 5, or 1 with --quick.
        threads: threads of one operation; 0 for the preset's number.
        quick: smallest sizes only, as a test that it works; not for publication.
        compile: also measure compiled dream steps, which takes some minutes more; never with --quick.
        precision: a game, such as atari/pong. Instead of timing, fit a small world model in float32 and in bfloat16 on
            its frames and print how often predictions differ. Only --threads, --quick and --json apply.
        json: write all results to this file.
    """
    if json is not None:
        # Checked now, not after minutes of measuring.
        rule = "must be a file in an existing folder"
        require(json.parent.is_dir() and not json.is_dir(), "json", str(json), rule)
    require(0 <= threads <= MAX_THREADS, "threads", threads, f"must be 0 to {MAX_THREADS}")
    if precision is not None:
        for field, value, default in (("size", size, "all"), ("repeats", repeats, None), ("compile", compile, True)):
            require(value == default, field, value, "must not be set together with --precision")
        return _compare_precisions(precision, threads, quick, json)
    return _time_steps(size, repeats, threads, quick, compile, json)


def _time_steps(size: str, repeats: int | None, threads: int, quick: bool, compile: bool, json: Path | None) -> int:
    from rich.console import Console

    from evade.benchmark import Options, run_benchmark
    from evade.benchmark.progress import ProgressBar
    from evade.benchmark.tables import WIDTH, build_tables, load_lines
    from evade.runs.files import write_json

    options = Options(size=size, repeats=repeats, threads=threads, quick=quick, compile=compile)
    with ProgressBar("benchmark", Console(stderr=True)) as bar:
        report = run_benchmark(options, bar.advance)
    # Wide enough for every column, also without a terminal.
    console = Console(width=max(WIDTH, Console().width))
    for table in build_tables(report):
        console.print(table, "")
    for line in load_lines(report):
        print(line)
    if json is not None:
        write_json(json, report.document())
    _print_where(json)
    return 0


def _compare_precisions(game: str, threads: int, quick: bool, json: Path | None) -> int:
    import torch
    from rich.console import Console

    from evade.benchmark.precision import PrecisionOptions, compare_precisions
    from evade.benchmark.progress import ProgressBar
    from evade.benchmark.tables import WIDTH, build_precision_table
    from evade.envs.games import resolve
    from evade.runs.files import write_json

    if threads:
        torch.set_num_threads(threads)
    name = resolve(game).name
    options = PrecisionOptions.for_test(name) if quick else PrecisionOptions(name)
    with ProgressBar("precision", Console(stderr=True)) as bar:
        results = compare_precisions(options, bar.advance)
    Console(width=max(WIDTH, Console().width)).print(build_precision_table(options, results), "")
    if json is not None:
        write_json(json, {"options": vars(options), "results": [result.document() for result in results]})
    _print_where(json)
    return 0


def _print_where(json: Path | None) -> None:
    written = f"All results are in {json}; " if json is not None else "Add --json FILE to keep the results; "
    print(f"{written}docs/reference/benchmark.md explains the columns.")
