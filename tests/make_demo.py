"""Make the run that `evade look --demo` shows: train it, keep what the page needs, and put it into the package.

Run it with `make demo` whenever the format of run folders changes. It takes a few minutes on one core.
"""

import shutil
import tempfile
from pathlib import Path

from evade.cli.main import main
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from evade.runs.folder import RunFolder, find_runs
from evade.viewing.look.source import DEMO

LIMIT = 1_000_000
"""Bytes."""
SETTINGS = "--world-model.reward.prior-scale 0.3 --schedule.iterations 3 --evaluation.final-episodes 30"
NETWORKS = ("policy", "world_model", "draw")
"""What is kept of a checkpoint."""


def pack(run, target):
    """Copy a finished run without the optimisers."""
    shutil.rmtree(target, ignore_errors=True)
    demo = RunFolder(target)
    demo.replay.mkdir(parents=True)
    for path in (run.config, run.status, run.metrics, run.scores, run.timing):
        shutil.copyfile(path, target / path.name)
    checkpoint = load_checkpoint(run.checkpoints, print)
    chunks = checkpoint.state["parts"]["replay"]
    for chunk in chunks:
        shutil.copyfile(run.replay / chunk["name"], demo.replay / chunk["name"])
    state = {"parts": {"replay": chunks}, "committed": {}}
    tensors = {name: checkpoint.tensors[name] for name in NETWORKS}
    save_checkpoint(demo.checkpoints, checkpoint.number, tensors, state)


def make():
    with tempfile.TemporaryDirectory() as runs:
        assert main(f"train quick evade --game minatar/breakout --runs-dir {runs} --name demo {SETTINGS}".split()) == 0
        (run,) = find_runs(Path(runs))
        pack(run, DEMO)
    size = sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file())
    print(f"{size:,} bytes in {DEMO}")  # noqa: T201
    assert size <= LIMIT


if __name__ == "__main__":
    make()
