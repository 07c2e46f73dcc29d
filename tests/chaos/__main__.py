"""`make chaos`: all attacks, and the table of what they found. Exit code 1 if they found anything."""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import torch

import crashing
from chaos import corruption, disks, folders, forgeries, kills, lines
from chaos.runs import Victim
from chaos.tally import Tally

CASES = {"lines": 600, "folders": len(folders.PAIRS), "forgeries": 400, "corruption": 1040, "disks": 24}
CASES |= {"minatar": 105, "atari": 105}
"""Cases of each attack; `minatar` and `atari` are kills."""


def report(message):
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def main():
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases to run")
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES), help="which attacks")
    parser.add_argument(
        "--cases", nargs="+", default=[], metavar="NAME=N", help="cases of these attacks, and no others"
    )
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    cases = {name: max(1, round(CASES[name] * chosen.scale)) for name in chosen.only}
    if chosen.cases:
        cases = {name: int(number) for name, _, number in (each.partition("=") for each in chosen.cases)}
    torch.set_num_threads(1)
    tally, start = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        victim = Victim(place)
        try:
            for name, number in cases.items():
                attack(name, number, chosen.seed, place, victim, tally)
                report(f"{name}: {time.monotonic() - start:,.0f} s, {tally.num_findings} findings so far")
        finally:
            # Also if an attack itself fails: what it found before is not lost.
            for example in tally.examples:
                report(example)
            print(tally.table())  # noqa: T201
    return 1 if tally.num_findings else 0


def attack(name, cases, seed, place, victim, tally):
    """Run one attack."""
    if name in ("lines", "forgeries", "corruption"):
        {"lines": lines, "forgeries": forgeries, "corruption": corruption}[name].attack(victim, tally, cases, seed)
    elif name == "folders":
        pairs = folders.PAIRS if cases >= len(folders.PAIRS) else random.Random(seed).sample(folders.PAIRS, cases)  # noqa: S311
        folders.attack(victim, tally, pairs)
    elif name == "disks":
        if disks.can_mount(place / "trial"):
            disks.attack(place, tally, cases, seed, victim.digest)
        else:
            report("disks: nothing can be mounted here; left out")
    else:
        reference = victim.digest
        if name == "atari":
            crashing.finish(place / "atari-reference", "atari")
            reference = crashing.digest(place / "atari-reference")
        kills.attack(place, tally, name, cases, seed, reference)


if __name__ == "__main__":
    sys.exit(main())
