import pytest

from evade.report import write_report
from evade.results import read_runs
from fake_runs import make_finished_run


@pytest.fixture
def runs_dir(tmp_path):
    """Two runs of one variant and one of another, whose folder is called like a piece of markup."""
    runs_dir = tmp_path / "runs"
    make_finished_run(runs_dir / "evade" / "seed-0", scores=(1.0, 3.0))
    film = make_finished_run(runs_dir / "evade" / "seed-1", seed=1, scores=(5.0, 7.0)).media / "game & dream.mp4"
    film.write_bytes(b"film")
    make_finished_run(runs_dir / "<script>alert(1)<" / "script>", variant="simple", scores=(2.0, 2.0))
    return runs_dir


@pytest.fixture
def report(runs_dir, tmp_path):
    """The folder of those runs' report."""
    return write_report(read_runs([runs_dir]), tmp_path / "report").parent
