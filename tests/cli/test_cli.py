import json
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
