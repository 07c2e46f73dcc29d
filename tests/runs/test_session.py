"""One process at work on one run folder."""

import json
import os
import signal

import pytest

from evade.config.presets import build_config
from evade.errors import ConfigChanged, Interrupted, RunLocked, TrainingDiverged
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
    former, notes = signal.getsignal(number), []

    def work():
        with session(tmp_path, notes=notes) as opened:
            opened.set_standing({"phase": "fit"})
            opened.check_stop()
            os.kill(os.getpid(), number)
            assert opened.should_stop
            opened.check_stop()

    with pytest.raises(Interrupted, match="run the same command again"):
        work()
    assert notes == ["stopping: saving a checkpoint"]
    assert signal.getsignal(number) is former
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
