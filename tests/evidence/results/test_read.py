import pytest

from evade.errors import RunError
from evade.evidence.results import read_run, read_runs
from run_folders import make_run


def test_a_run_folder_says_what_it_holds(tmp_path):
    make_run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert (run.preset, run.variant, run.game, run.seed, run.status) == ("smoke", "evade", "minatar/breakout", 4, "new")
    assert run.final_scores == (1.0, 2.0)
    assert [row.real_steps for row in run.episodes] == [64, 192, 192]
    assert run.seconds == {"fit": 3.5}
    assert run.metrics == ()
    assert run.protocol["evaluation_version"] == 1


def test_the_last_final_evaluation_counts(tmp_path):
    make_run(tmp_path / "run", finals=((3, (1.0, 2.0)), (5, (9.0,))))
    assert read_run(tmp_path / "run").final_scores == (9.0,)
    make_run(tmp_path / "unfinished", finals=())
    assert read_run(tmp_path / "unfinished").final_scores == ()


def test_runs_are_found_below_a_folder_and_counted_once(tmp_path):
    make_run(tmp_path / "a" / "run")
    make_run(tmp_path / "b" / "run")
    runs = read_runs([tmp_path, tmp_path / "a" / "run"])
    assert [run.folder.path for run in runs] == [tmp_path / "a" / "run", tmp_path / "b" / "run"]


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="is not a run"):
        read_run(tmp_path)
    with pytest.raises(RunError, match="there are no runs in"):
        read_runs([tmp_path])
