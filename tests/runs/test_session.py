"""One process at work on one run folder."""

import json
import os
import signal

import pytest

from evade.config.presets import build_config
from evade.errors import ConfigChanged, Interrupted, RunError, RunLocked, TrainingDiverged
from evade.runs.folder import RunFolder
from evade.runs.session import Session, saved_config


def session(path, seed=0, notes=None):
    notify = (lambda message: None) if notes is None else notes.append
    return Session(build_config("smoke", "evade", seed=seed), RunFolder(path), {"torch": "2"}, notify)


def status(path):
    return json.loads(RunFolder(path).status.read_text())


def test_the_settings_are_written_and_read_back(tmp_path):
    with session(tmp_path, seed=5) as opened:
        opened.write_settings()
        assert saved_config(opened.folder) == opened.config
    assert json.loads(opened.folder.environment.read_text()) == {"torch": "2"}


def test_other_settings_are_refused_and_nothing_is_changed(tmp_path):
    with session(tmp_path) as opened:
        opened.write_settings()
        before = opened.folder.config.read_bytes()
    with (
        pytest.raises(ConfigChanged, match="seed: 0 in the run, 1 now.*--name, --seed or --runs-dir"),
        session(tmp_path, 1),
    ):
        pass
    assert opened.folder.config.read_bytes() == before


def test_a_second_session_is_refused_until_the_first_ends(tmp_path):
    with session(tmp_path), pytest.raises(RunLocked), session(tmp_path):
        pass
    with session(tmp_path):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_asks_to_stop_and_the_former_handler_comes_back(tmp_path, number):
    # Set here, because a hang-up is ignored in tests that `nohup` started.
    outer, notes = signal.signal(number, signal.SIG_DFL), []

    def work():
        with session(tmp_path, notes=notes) as opened:
            opened.set_standing({"phase": "fit"})
            opened.check_stop()
            os.kill(os.getpid(), number)
            assert opened.should_stop
            opened.check_stop()

    try:
        with pytest.raises(Interrupted, match="run the same command again"):
            work()
        assert notes == ["stopping: saving a checkpoint"]
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, outer)
    assert status(tmp_path)["status"] == "stopped"
    assert status(tmp_path)["phase"] == "fit"


def test_a_failure_is_the_runs_status_and_a_divergence_leaves_a_report(tmp_path):
    with pytest.raises(ZeroDivisionError), session(tmp_path / "one"):
        raise ZeroDivisionError("by chance")
    assert status(tmp_path / "one")["error"] == "by chance"
    opened = session(tmp_path / "two")
    opened.phase = "fit"
    with pytest.raises(TrainingDiverged), opened:
        raise TrainingDiverged("the loss is nan")
    report = json.loads((opened.folder.post_mortem / "report.json").read_text())
    assert (report["phase"], report["error"]) == ("fit", "the loss is nan")
    assert status(tmp_path / "two")["status"] == "failed"


def test_a_finished_run_has_its_score_in_the_status(tmp_path):
    with session(tmp_path) as opened:
        opened.set_standing({"iteration": 2})
        assert status(tmp_path)["status"] == "running"
        opened.finish({"mean": 1.5})
    assert status(tmp_path) | {"updated": 0, "sha256": ""} == {
        "status": "finished",
        "updated": 0,
        "sha256": "",
        "iteration": 2,
        "score": {"mean": 1.5},
    }


def film(opened):
    opened.set_standing({"iterations": 2}, is_scored=True)
    raise Interrupted("while filming")


def test_a_finished_run_stays_finished_when_a_later_session_fails(tmp_path):
    with session(tmp_path) as opened:
        opened.set_standing({"iterations": opened.config.schedule.iterations})
        opened.finish({"mean": 1.5, "standard_error": 0.0, "episodes": 1, "random": 0.0})
    finished = status(tmp_path)
    with pytest.raises(ZeroDivisionError), session(tmp_path):
        raise ZeroDivisionError
    again = session(tmp_path)
    with pytest.raises(Interrupted), again:
        film(again)
    assert status(tmp_path) == finished
    with session(tmp_path) as again:
        # Its last checkpoint was lost, and with it the final score.
        again.set_standing({"iterations": 2}, is_scored=False)
    assert status(tmp_path)["status"] == "running"


def test_a_failure_before_anything_is_restored_keeps_where_the_run_stood(tmp_path):
    journals = {"scores": {"size": 0, "sha256": "0" * 64}}
    with session(tmp_path) as opened:
        opened.set_standing({"iteration": 2, "journals": journals})
    with pytest.raises(ZeroDivisionError), session(tmp_path):
        raise ZeroDivisionError
    assert (status(tmp_path)["iteration"], status(tmp_path)["journals"]) == (2, journals)


def test_the_environment_is_written_only_once_the_run_can_continue_and_differences_are_shown(tmp_path):
    notes = []
    with session(tmp_path) as opened:
        opened.write_settings()
    opened.folder.environment.write_text(json.dumps({"torch": "1", "evade": "0.0.9"}))
    with session(tmp_path, notes=notes) as again:
        assert json.loads(again.folder.environment.read_text())["evade"] == "0.0.9"
        assert notes == []
        again.write_settings()
    assert notes == [
        "this environment differs (torch was '1', is '2'): the run continues, but no longer bit for bit alike."
    ]
    assert json.loads(again.folder.environment.read_text()) == {"torch": "2"}


def test_a_damaged_status_is_said_and_does_not_keep_a_run_from_continuing(tmp_path):
    with session(tmp_path) as opened:
        opened.set_standing({"iteration": 1})
    opened.folder.status.write_text("{")
    notes = []
    with session(tmp_path, notes=notes) as again:
        again.set_standing({"iteration": 1})
    assert "status.json" in notes[0]
    assert status(tmp_path)["status"] == "running"


@pytest.mark.parametrize("name", ["replay", "checkpoints", "lock", "scores.jsonl"])
def test_a_link_inside_a_run_is_refused_and_nothing_is_changed(tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("theirs")
    run = tmp_path / "run"
    run.mkdir()
    (run / name).symlink_to(outside if "." not in name and name != "lock" else outside / "theirs")
    with pytest.raises(RunError, match=f"{name} is a link: must be a"), session(run):
        pass
    assert sorted(path.name for path in run.iterdir()) == [name]
    assert (outside / "theirs").read_text() == "theirs"


def test_unfinished_files_of_killed_processes_are_removed_everywhere_and_others_stay(tmp_path):
    with session(tmp_path) as opened:
        pass
    for folder in ("", "media", "replay"):
        (tmp_path / folder / f".tmp-game-{'a' * 32}.mp4").touch()
        (tmp_path / folder / ".tmp-mine").touch()
    with session(tmp_path):
        pass
    left = [path.name for path in opened.folder.path.rglob(".tmp*")]
    assert left == [".tmp-mine"] * 3
