import shutil

import pytest

from evade.evidence.report import write_report
from evade.evidence.results import read_runs
from evade.runs.files import read_json, write_json
from run_folders import make_finished_run, write_journal


def _two_iterations():
    for iteration in (1, 2):
        for phase, values in (
            ("collect", {"faithfulness/game_return": 1.0 * iteration, "faithfulness/dream_return": 2.0}),
            ("collect", {"faithfulness/dream_return": 4.0}),
            ("draw", {"posterior/sigma": 0.1, "posterior/sigma/layer": 0.3}),
            ("improve", {"dream/return": 2.0}),
            ("fit", {"fit/reward_accuracy": 0.25 * iteration}),
        ):
            yield {"iteration": iteration, "phase": phase, "step": iteration, "values": values}


def _make_report_run(path, *, status="finished", fingerprint=None, **settings):
    folder = make_finished_run(path, **settings)
    config = read_json(folder.config)
    identity = "-".join(str(config["settings"][name]) for name in ("variant", "game", "seed"))
    write_json(folder.config, config | {"fingerprint": fingerprint or identity})
    write_json(folder.status, {"status": status})
    write_journal(folder.metrics, _two_iterations())
    return folder


@pytest.fixture(scope="session")
def make_report_run():
    """A function that makes a run folder of two iterations, with metrics by full name and a fingerprint of its own."""
    return _make_report_run


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder with `runs` (three of one variant, one of another with markup for a name) and their `report`."""
    folder = tmp_path_factory.mktemp("written")
    _make_report_run(folder / "runs" / "evade" / "seed-0", scores=(1.0, 3.0))
    second = _make_report_run(folder / "runs" / "evade" / "seed-1", seed=1, scores=(5.0, 7.0))
    (second.media / "game & dream.mp4").write_bytes(b"film")
    _make_report_run(folder / "runs" / "evade" / "seed-2", seed=2, scores=(3.0, 5.0))
    _make_report_run(folder / "runs" / "<script>alert(1)<" / "script>", variant="simple", scores=(2.0, 2.0))
    write_report(read_runs([folder / "runs"]), folder / "report")
    return folder


@pytest.fixture
def runs_dir(written, tmp_path):
    """A copy of the runs, for tests that change them."""
    return shutil.copytree(written / "runs", tmp_path / "runs")


@pytest.fixture
def report(written, tmp_path):
    """A copy of the report, for tests that change it."""
    return shutil.copytree(written / "report", tmp_path / "report")
