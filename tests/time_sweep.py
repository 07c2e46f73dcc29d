"""What a sweep costs more than the same `evade train` commands by hand, one at a time.

    python tests/time_sweep.py [--runs 6] [--repeats 3] [--iterations 4]

Each repeat trains the same runs of the preset `smoke` in new folders: by hand, by `evade sweep` without its estimate
and its report, and by `evade sweep` with them. The order changes from repeat to repeat. Every way must end in the same
scores. Printed are medians over the repeats of the wall-clock time and of the processor time of all processes, and the
processor time of the sweep's own process, without the runs that it starts. Its share of the runs' time is the overhead:
on a busy machine the clock measures the others too, and runs differ by more than a sweep costs.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

VARIANT, GAME = "evade", "minatar/breakout"


class Cost(NamedTuple):
    """Seconds."""

    wall: float
    processor: float
    """Of the command and all that it started."""
    own: float
    """Processor time of the command's own process."""


PROGRAM = """
import resource, sys
from evade.cli.main import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
sys.exit(code)
"""


def run_evade(words):
    """Run one command to its end; what it prints is not shown."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    with process.stdout:
        printed = process.stdout.read().splitlines()
    # The usage of a process includes that of the children that it waited for.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"evade {' '.join(words)} ended with exit code {process.returncode}: see its output above.")
    return Cost(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, float(printed[-1]))


def by_hand(runs_dir, seeds, iterations):
    """One `evade train` after the other, as a shell would do it."""
    costs = [
        run_evade(
            [
                *("train", "smoke", VARIANT, "--game", GAME, "--seed", str(seed), "--runs-dir", str(runs_dir)),
                *("--machine.threads", "1", "--schedule.iterations", str(iterations)),
            ]
        )
        for seed in seeds
    ]
    return Cost(*map(sum, zip(*costs, strict=True)))


def by_sweep(runs_dir, seeds, iterations, *options):
    """The same runs by one command."""
    return run_evade(
        [
            *("sweep", "--preset", "smoke", "--games", GAME, "--variants", VARIANT, "--jobs", "1", *options),
            *("--seeds", f"{seeds[0]}-{seeds[-1]}", "--set", f"schedule.iterations={iterations}"),
            *("--runs-dir", str(runs_dir)),
        ]
    )


def bare_sweep(runs_dir, seeds, iterations):
    return by_sweep(runs_dir, seeds, iterations, "--no-measure", "--no-report")


WAYS = {"by hand": by_hand, "sweep without estimate and report": bare_sweep, "sweep": by_sweep}


def read_scores(runs_dir):
    """The content of every file of scores, by its place."""
    return {path.relative_to(runs_dir): path.read_bytes() for path in sorted(runs_dir.rglob("scores.jsonl"))}


def measure(folder, seeds, repeats, iterations):
    """The costs of each way, one for each repeat."""
    costs = {name: [] for name in WAYS}
    expected = None
    for repeat in range(repeats):
        names = list(WAYS)
        for name in names[repeat % len(names) :] + names[: repeat % len(names)]:
            runs_dir = folder / f"{repeat}-{name.replace(' ', '-')}"
            costs[name].append(WAYS[name](runs_dir, seeds, iterations))
            scores = read_scores(runs_dir)
            expected = expected or scores
            assert scores == expected, f"{runs_dir} has other scores than the first runs"
            assert len(scores) == len(seeds), f"{runs_dir} has {len(scores)} runs, not {len(seeds)}"
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=4, help="of each run: how long it takes")
    words = parser.parse_args()
    seeds = range(1, words.runs + 1)
    with tempfile.TemporaryDirectory() as name:
        by_hand(Path(name) / "warm-up", seeds[:1], 1)  # compiled modules and caches
        costs = measure(Path(name), seeds, words.repeats, words.iterations)
    print(f"load of the machine {Path('/proc/loadavg').read_text().split()[0]}")  # noqa: T201
    medians = {way: Cost(*map(statistics.median, zip(*found, strict=True))) for way, found in costs.items()}
    hand = medians["by hand"]
    for way, cost in medians.items():
        line = f"{words.runs} runs, {way}: wall {cost.wall:.1f} s ({cost.wall - hand.wall:+.1f} s), "
        line += f"processor {cost.processor:.1f} s ({cost.processor - hand.processor:+.1f} s)"
        if cost is not hand:
            line += f"; own process {cost.own:.2f} s, {cost.own / hand.processor:.1%} of the runs"
        print(line)  # noqa: T201
    for way, found in costs.items():
        each = "; ".join(f"{cost.wall:.1f} s, {cost.processor:.1f} s, {cost.own:.2f} s" for cost in found)
        print(f"{way}, each repeat (wall, processor, own): {each}")  # noqa: T201


if __name__ == "__main__":
    main()
