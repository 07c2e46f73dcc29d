"""Finished runs to attack: trained once, then copied."""

import json
import shutil
from pathlib import Path

import crashing
from chaos.commands import run_here
from evade.runs.files import encode_json
from evade.runs.manifest import describe, encode_manifest

VERBS = ("runs", "compare", "index", "report", "verify", "evaluate", "resume")


class Victim:
    """A finished smoke run and everything around it, to be copied for every case."""

    def __init__(self, place, game="minatar"):
        self.place, self.game = Path(place), game
        crashing.finish(self.place / "original" / "runs", game)
        self.digest = crashing.digest(self.place / "original" / "runs")
        outside = self.place / "original" / "outside"
        outside.mkdir()
        for name in ("secret.txt", "precious.mp4", "journal.jsonl"):
            (outside / name).write_text(f"{name} of somebody else\n")
        self._count = 0

    def copy(self, *, with_report=False):
        """A sandbox of its own: `runs`, with the run, `outside`, and the run's `report` if asked for."""
        self._count += 1
        sandbox = self.place / f"case-{self._count}"
        shutil.copytree(self.place / "original", sandbox, symlinks=True)
        if with_report:
            shutil.copytree(self.report(), sandbox / "report")
        return sandbox

    def report(self):
        """The report of the whole run; written once, because its figures take seconds."""
        folder = self.place / "report"
        if not folder.exists():
            code, output, _ = run_here(["report", str(self.place / "original" / "runs"), "-o", str(folder)])
            assert code == 0, output
        return folder

    def discard(self, sandbox):
        shutil.rmtree(sandbox)


def run_of(sandbox):
    """The run's folder in a sandbox."""
    return next(path.parent for path in (Path(sandbox) / "runs").rglob("checkpoints"))


def words_for(verb, sandbox):
    """The command line of a verb on a sandbox."""
    runs, run = str(Path(sandbox) / "runs"), str(run_of(sandbox))
    return {
        "runs": ["runs", runs],
        "compare": ["compare", runs, "--resamples", "50"],
        "index": ["index", runs, "--database", str(Path(sandbox) / "index.sqlite")],
        "report": ["report", runs, "-o", str(Path(sandbox) / "report")],
        "verify": ["report", runs, "-o", str(Path(sandbox) / "report"), "--verify"],
        "evaluate": ["evaluate", run, "--episodes", "2"],
        "resume": ["resume", run],
    }[verb]


def newest_checkpoint(sandbox):
    return max((run_of(sandbox) / "checkpoints").iterdir())


def reseal(checkpoint):
    """Write a manifest that fits whatever a checkpoint's files hold now."""
    names = [path.name for path in checkpoint.iterdir() if path.name != "MANIFEST.json"]
    files = {name: describe((checkpoint / name).read_bytes()) for name in sorted(names)}
    manifest = json.loads((checkpoint / "MANIFEST.json").read_text())
    (checkpoint / "MANIFEST.json").write_bytes(encode_manifest(manifest["number"], files))


def reseal_document(path, document):
    """Write a document with the checksum that fits it."""
    from evade.runs import documents

    document = {name: value for name, value in document.items() if name != "sha256"}
    path.write_bytes(encode_json(document | {"sha256": documents.checksum(document)}))
