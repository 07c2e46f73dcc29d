"""Make the run that `evade look --demo` shows: train it, keep what the page needs, and put it into the package.

Run it with `make demo` whenever the format of run folders changes. It takes a few minutes on one core.
"""

import shutil
import tempfile
from pathlib import Path

from showcase import save_networks

from evade.cli.main import main
from evade.runs.folder import RunFolder, find_runs
from evade.viewing.look.source import DEMO

LIMIT = 1_000_000
"""Bytes."""
SETTINGS = "--schedule.iterations 3 --evaluation.final-episodes 30"


def pack(run: RunFolder, target: Path) -> None:
    """Copy a finished run without the optimisers."""
    shutil.rmtree(target, ignore_errors=True)
    demo = RunFolder(target)
    demo.replay.mkdir(parents=True)
    for path in (run.config, run.status, run.metrics, run.scores, run.timing):
        shutil.copyfile(path, target / path.name)
    for name in save_networks(run, demo):
        shutil.copyfile(run.replay / name, demo.replay / name)


def make() -> None:
    """Train, pack, and check the size."""
    with tempfile.TemporaryDirectory() as runs:
        assert main(f"train quick evade --game minatar/breakout --runs-dir {runs} --name demo {SETTINGS}".split()) == 0
        (run,) = find_runs(Path(runs))
        pack(run, DEMO)
    size = sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file())
    print(f"{size:,} bytes in {DEMO}")
    assert size <= LIMIT


if __name__ == "__main__":
    make()
