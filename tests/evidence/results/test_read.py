import json

import pytest

from evade.cli.main import main
from evade.errors import RunError
from evade.evidence.results import read_run, read_runs
from evade.runs.files import write_json
from run_folders import VERSIONS, make_run


def test_a_run_folder_says_what_it_holds(tmp_path):
    make_run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert (run.preset, run.variant, run.game, run.seed, run.status) == ("smoke", "evade", "minatar/breakout", 4, "new")
    assert run.final_scores == (1.0, 2.0)
    assert [row.real_steps for row in run.episodes] == [64, 192, 192]
    assert run.seconds == {"fit": 3.5}
    assert run.metrics == ()
    assert (run.preprocessing_version, run.evaluation_version) == (1, 1)


def test_the_last_final_evaluation_counts(tmp_path):
    make_run(tmp_path / "run", finals=((3, (1.0, 2.0)), (5, (9.0, 4.0))), status="finished")
    run = read_run(tmp_path / "run")
    assert run.final_scores == (9.0, 4.0)
    assert run.final_score == 6.5
    assert [row.real_steps for row in run.final_episodes] == [320, 320]


@pytest.mark.parametrize(
    ("finals", "status"),
    [
        (((3, (1.0,)),), "running"),
        (((3, (1.0, 2.0)), (5, (9.0,))), "stopped"),
        (((3, (1.0, 2.0)),), None),
        ((), "finished"),
    ],
    ids=["half written", "continued after its end", "no status", "no final evaluation"],
)
def test_a_run_is_finished_only_with_its_status_and_its_final_scores(tmp_path, finals, status):
    make_run(tmp_path / "run", finals, status=status)
    run = read_run(tmp_path / "run")
    assert not run.is_finished
    assert run.final_score is None
    assert run.final_scores == (finals[-1][1] if finals else ())


def test_runs_are_found_below_a_folder_and_counted_once(tmp_path):
    make_run(tmp_path / "a" / "run")
    make_run(tmp_path / "b" / "run")
    runs = read_runs([tmp_path, tmp_path / "a" / "run"])
    assert [run.folder.path for run in runs] == [tmp_path / "a" / "run", tmp_path / "b" / "run"]


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="is not a run"):
        read_run(tmp_path)
    with pytest.raises(RunError, match="there are no runs in"):
        read_runs(iter([tmp_path]))


@pytest.mark.parametrize(
    ("document", "missing"),
    [
        ({"fingerprint": "f", "preprocessing_version": 1, "evaluation_version": 1}, "settings:"),
        ([], "settings, fingerprint, preprocessing_version, evaluation_version:"),
        (
            {"settings": {"game": "pong", "seed": 0}, "fingerprint": "f", **VERSIONS},
            "settings.preset, settings.variant:",
        ),
        ({"settings": {}, "fingerprint": "f", **VERSIONS}, "settings.preset, .*settings.seed:"),
    ],
)
def test_a_config_of_another_version_or_program_is_a_named_error(tmp_path, document, missing):
    (tmp_path / "config.json").write_text(json.dumps(document))
    with pytest.raises(RunError, match=f"config.json has no {missing} this version of evade did not write it"):
        read_run(tmp_path)


def test_the_runs_command_shows_the_score_of_finished_runs_only(tmp_path, capsys):
    score = {"mean": 2.25, "standard_error": 0.5, "episodes": 4, "random": 0.25}
    for name, status in (("done", "finished"), ("half", "running")):
        folder = make_run(tmp_path / name)
        write_json(folder.status, {"status": status, "iteration": 2, "iterations": 3, "real_steps": 64, "score": score})
    make_run(tmp_path / "new")
    assert main(["runs", "--runs-dir", str(tmp_path)]) == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert [row for row in rows if row] == [
        ["done", "finished", "2/3", "64", "2.25 ± 0.50", "0.25"],
        ["half", "interrupted", "2/3", "64", "-", "-"],
        ["new", "new", "-/-", "-", "-", "-"],
    ]
