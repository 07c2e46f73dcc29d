"""`evade benchmark`: how fast this machine fits and dreams."""

from pathlib import Path
from typing import Literal

from evade.checks import require


def benchmark(
    size: Literal["all", "paper", "minatar"] = "all",
    repeats: int | None = None,
    threads: int = 0,
    quick: bool = False,
    compile: bool = True,
    json: Path | None = None,
) -> int:
    """Time fit steps, dream steps and PPO against this machine's matrix peak and a plain network. Takes minutes.

    Args:
        size: the networks to measure: the paper's, those of the MinAtar preset, or both.
        repeats: rounds of the interleaved run, each with one sample of everything; 5, or 1 if quick.
        threads: of one operation; 0 for as many as a run of each preset would use.
        quick: the smallest sizes, to see that it works; not for publication.
        compile: measure compiled dream steps too, which takes some minutes more; never if quick.
        json: a file to write everything measured to.
    """
    if json is not None:
        # Now, not after minutes of measuring.
        require(json.parent.is_dir() and not json.is_dir(), "json", str(json), "name a file in a folder that exists")
    from rich.console import Console

    from evade.benchmark import Options, run_benchmark
    from evade.benchmark.progress import ProgressBar
    from evade.benchmark.tables import WIDTH, build_tables, load_lines
    from evade.runs.files import write_json

    options = Options(size=size, repeats=repeats, threads=threads, quick=quick, compile=compile)
    with ProgressBar("benchmark", Console(stderr=True)) as bar:
        report = run_benchmark(options, bar.advance)
    # Wide enough for every column, also where there is no terminal.
    console = Console(width=max(WIDTH, Console().width))
    for table in build_tables(report):
        console.print(table, "")
    for line in load_lines(report):
        print(line)
    if json is not None:
        write_json(json, report.document())
    written = f"All of it is in {json}; " if json is not None else "Add --json FILE to keep it; "
    print(f"{written}docs/reference/benchmark.md says what the columns mean.")
    return 0
