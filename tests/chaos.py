"""`make chaos`: hundreds of kills at random times, on MinAtar and on Atari; every run must end alike."""

import sys
import tempfile
from pathlib import Path

import crashing

KILLS = {"minatar": 150, "atari": 50}


def report(message):
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def main():
    for game, kills in KILLS.items():
        with tempfile.TemporaryDirectory() as folder:
            reference = Path(folder) / "reference"
            crashing.finish(reference, game)
            expected = crashing.digest(reference)
            crashing.chaos(Path(folder) / "chaos", game, expected, kills, seed=kills, longest=7.0, report=report)
    print(f"{sum(KILLS.values())} kills, every run ended bit for bit alike")  # noqa: T201


if __name__ == "__main__":
    main()
