"""A sweep's own folder: its plan, its logs, and what it comes to. No torch here.

It lies in `sweeps` inside the runs folder, so that whoever sees the runs, on whichever machine, also sees the plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evade.errors import PlanError
from evade.runs.files import make_folder, read_json, write_json
from evade.sweeps.plan import PlannedRun

FORMAT = 1
"""Of plan.json; raised when older programs could misread it."""

SWEEPS = "sweeps"
PLAN = "plan.json"


@dataclass(frozen=True)
class Estimate:
    """What one run costs, as estimated before it begins (`evade.sweeps.estimate`)."""

    seconds: float
    flops: float | None
    """Floating-point operations; None if they were not counted."""
    source: str
    """Where the numbers come from, for people."""


@dataclass(frozen=True)
class SweepFolder:
    """The folder of one sweep; the properties name what is in it, whether or not it is there yet."""

    path: Path

    @property
    def runs_dir(self) -> Path:
        """The folder above all its runs."""
        return self.path.parent.parent

    @property
    def plan(self) -> Path:
        """The planned runs."""
        return self.path / PLAN

    @property
    def scores(self) -> Path:
        """The final scores of all its runs, which `evade compare` reads back."""
        return self.path / "scores.csv"

    @property
    def comparison(self) -> Path:
        """The tables of `evade compare`."""
        return self.path / "comparison.md"

    @property
    def report(self) -> Path:
        """Folder of the HTML report."""
        return self.path / "report"

    def log(self, run: PlannedRun) -> Path:
        """What a run prints."""
        return self.path / "logs" / f"{run.folder.replace('/', '-')}.log"


def sweep_folder(runs_dir: Path, name: str) -> SweepFolder:
    """The folder of the sweep of a name."""
    return SweepFolder(runs_dir / SWEEPS / name)


def save_plan(folder: SweepFolder, runs: Sequence[PlannedRun], estimate: Estimate | None) -> None:
    """Write down what is planned, and what one run was estimated to cost."""
    make_folder(folder.path / "logs")
    cost = None if estimate is None else asdict(estimate)
    document = {"format": FORMAT, "estimate": cost, "runs": [asdict(run) for run in runs]}
    write_json(folder.plan, document)


@dataclass(frozen=True)
class SavedPlan:
    """A plan as it was written down."""

    runs: tuple[PlannedRun, ...]
    estimate: Estimate | None


def load_plan(folder: SweepFolder) -> SavedPlan:
    """Read a saved plan.

    Raises:
        PlanError: it is of another version, or leads out of the runs folder.
        UnreadableFile: it is missing or damaged.
    """
    document = read_json(folder.plan)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise PlanError(f"{folder.plan} was not written by this version of evade: start the sweep again.")
    try:
        runs = tuple(_planned(each) for each in document["runs"])
        estimate = None if document["estimate"] is None else Estimate(**document["estimate"])
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"{folder.plan} is damaged ({error}): start the sweep again.") from None
    return SavedPlan(runs, estimate)


def _planned(each: Mapping[str, Any]) -> PlannedRun:
    changes = tuple((str(name), str(value)) for name, value in each["changes"])
    run = PlannedRun(**{**each, "changes": changes})
    if Path(run.folder).is_absolute() or ".." in Path(run.folder).parts:
        raise ValueError(f"{run.folder} leads out of the runs folder")
    return run


def find_sweeps(path: Path) -> list[SweepFolder]:
    """The sweep in a folder, or all sweeps of a runs folder.

    Raises:
        PlanError: there is none.
    """
    folders = [path, *sorted((path / SWEEPS).glob("*"))]
    found = [SweepFolder(folder.absolute()) for folder in folders if (folder / PLAN).is_file()]
    if not found:
        raise PlanError(f"there is no sweep in {path}: give a runs folder, or one of the folders in its `{SWEEPS}`.")
    return found
