import json
import re
import subprocess
import sys

import pytest

from evade.cli.main import MISTAKE, main
from evade.errors import EvadeError
from evade.runtime.machine import Finding


def evade(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "evade", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_help_lists_the_verbs():
    result = evade("--help")
    assert result.returncode == 0
    assert "doctor" in result.stdout


def test_help_does_not_wait_for_torch():
    code = (
        "import sys; from evade.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print('torch loaded:', 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "torch loaded: False" in result.stdout


def test_an_unknown_verb_is_explained_without_a_traceback():
    result = evade("doctr")
    assert result.returncode == MISTAKE
    assert "doctor" in result.stderr + result.stdout
    assert "Traceback" not in result.stderr


def test_doctor_reports_and_is_well():
    result = evade("doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    for word in (
        "torch",
        "device",
        "threads",
        "bf16",
        "extra atari",
        "extra minatar",
        "self-test",
        "All checks passed.",
    ):
        assert word in result.stdout


def test_doctor_as_json():
    result = evade("doctor", "--as-json")
    report = json.loads(result.stdout)
    assert report["all_well"] is True
    findings = {finding["name"]: finding for finding in report["findings"]}
    assert findings["evade"]["value"]
    assert findings["self-test"]["is_well"]


def test_doctor_exits_with_1_when_something_is_wrong(monkeypatch, capsys):
    import evade.runtime.machine

    monkeypatch.setattr(
        evade.runtime.machine, "examine", lambda: [Finding("self-test", "failed: on purpose", is_well=False)]
    )
    assert main(["doctor"]) == 1
    assert "failed: on purpose" in capsys.readouterr().out


def test_a_users_mistake_is_one_line(monkeypatch, capsys):
    import evade.runtime.machine

    def fail():
        raise EvadeError("what happened, and what to do.")

    monkeypatch.setattr(evade.runtime.machine, "examine", fail)
    assert main(["doctor"]) == MISTAKE
    assert capsys.readouterr().err == "evade: what happened, and what to do.\n"


def test_an_error_of_the_layers_is_one_line_too_and_a_bug_is_not(monkeypatch, capsys):
    import evade.runtime.machine
    from evade.layers import LayerError

    def fail():
        raise LayerError("Invalid channels = 0: must be at least 1.")

    monkeypatch.setattr(evade.runtime.machine, "examine", fail)
    assert main(["doctor"]) == MISTAKE
    assert capsys.readouterr().err == "evade: Invalid channels = 0: must be at least 1.\n"

    def break_down():
        raise ValueError("a bug")

    monkeypatch.setattr(evade.runtime.machine, "examine", break_down)
    with pytest.raises(ValueError, match="a bug"):
        main(["doctor"])


@pytest.mark.parametrize("error", [EvadeError("broken"), RuntimeError("broken")])
def test_a_failing_self_test_is_a_finding(error):
    from evade.runtime.machine import _self_test

    def work():
        raise error

    assert _self_test(work) == Finding("self-test", "failed: broken", is_well=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "smoke", "evade", "--game", ""], "Unknown game ''"),
        (["train", "smoke", "evade", "--game", "CarRacing-v3"], "a package that carracing|is not installed"),
        (["train", "smoke", "evade", "--name", "../../x"], "Invalid --name"),
        (["train", "smoke", "evade", "--machine.threads", "100000"], "machine.threads = 100000: must be 0 to 1024"),
        (["train", "smoke", "evade", "--seed", "99999999999999999999"], "Invalid seed"),
        (["evaluate", "absent", "--episodes", "0"], "Invalid episodes = 0: must be at least 1"),
        (["evaluate", "absent", "--seed", "99999999999999999999"], "Invalid seed"),
        (["evaluate", "/dev/null"], "is not a run"),
        (["evaluate", "a" * 300], "cannot be read"),
        (["compare", "/dev/null"], "there are no runs"),
        (["benchmark", "--threads", "100000"], "must be 0 to 1024"),
        (["posterior", "--sightings", "-1"], "Invalid sightings = '-1'"),
        (["posterior", "--sightings", "0,,3"], "Invalid sightings = '0,,3'.*as in 0,30"),
        (["posterior", "--sightings", "1" * 10], "of up to 9 digits"),
        (["posterior", "--sightings", ""], "Invalid sightings = ''"),
        # A list of words after the flag would have taken the run's path.
        (["posterior", "--sightings", "0", "30"], "30 is not a run"),
        (["posterior", "--allow-import", "somebodys_games", "absent"], "absent is not a run"),
        (["evaluate", "--allow-import", "somebodys_games", "absent"], "absent is not a run"),
        (["index", "/dev/null"], "there are no runs"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == MISTAKE
    error = capsys.readouterr().err
    assert re.search(said, error, re.IGNORECASE), error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
