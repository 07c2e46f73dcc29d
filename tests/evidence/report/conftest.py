import shutil

import pytest

from evade.evidence.report import write_report
from evade.evidence.results import read_runs
from run_folders import make_finished_run


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder with `runs` (two of one variant, one of another with markup for a name) and their `report`."""
    folder = tmp_path_factory.mktemp("written")
    make_finished_run(folder / "runs" / "evade" / "seed-0", scores=(1.0, 3.0))
    second = make_finished_run(folder / "runs" / "evade" / "seed-1", seed=1, scores=(5.0, 7.0))
    (second.media / "game & dream.mp4").write_bytes(b"film")
    make_finished_run(folder / "runs" / "<script>alert(1)<" / "script>", variant="simple", scores=(2.0, 2.0))
    write_report(read_runs([folder / "runs"]), folder / "report")
    return folder


@pytest.fixture
def runs_dir(written, tmp_path):
    """A copy of the runs, to be changed at will."""
    return shutil.copytree(written / "runs", tmp_path / "runs")


@pytest.fixture
def report(written, tmp_path):
    """A copy of the report, to be changed at will."""
    return shutil.copytree(written / "report", tmp_path / "report")
