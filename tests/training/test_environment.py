"""What a resumed run says of an environment in which it is no longer bit for bit the same."""

from evade.config.presets import build_config
from evade.runs.folder import RunFolder
from evade.training.progress import Silent
from evade.training.run import Run


class Noted(Silent):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def test_a_missing_compiler_is_said_because_sums_of_the_prior_round_differently(tmp_path, monkeypatch):
    config = build_config("smoke", "evade")
    with Run(config, RunFolder(tmp_path)) as run:
        run.restore_or_start()
    monkeypatch.setenv("CXX", "no-such-compiler")
    display = Noted()
    with Run(config, RunFolder(tmp_path), display) as run:
        run.restore_or_start()
    assert any("this environment differs (c++ was True, is False)" in note for note in display.notes)
