"""The runs that a release brings along."""

import json

import pytest
from showcase import export_run

import evade
from evade.cli.main import main
from evade.errors import RunError
from evade.runs.documents import read_status, write_status
from evade.runs.folder import RunFolder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    runs_dir = tmp_path_factory.mktemp("trained")
    assert main(["train", "smoke", "simple", "--runs-dir", str(runs_dir)]) == 0
    return RunFolder(runs_dir / "smoke" / "minatar-breakout" / "simple" / "seed-0")


def test_an_exported_run_can_be_used_at_once(trained, tmp_path, capsys):
    export_run(trained, tmp_path / "run")
    export_run(trained, tmp_path / "run")
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 1
    assert not list((tmp_path / "run").rglob("*.mp4"))
    assert evade.load(tmp_path / "run").config == evade.load(trained.path).config
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "2", "--as-json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["episodes"]) == 2
    card = (tmp_path / "run" / "MODEL_CARD.md").read_text()
    mean = json.loads(trained.status.read_text())["score"]["mean"]
    assert f"| score | {mean:.2f} ± " in card
    assert "over 3 games of this one run" in card
    assert "| real steps | 256 |" in card
    assert f"evade {evade.__version__}" in card


def test_an_unfinished_run_is_not_exported(trained, tmp_path):
    status = trained.status.read_text()
    write_status(trained, "running", read_status(trained).standing)
    try:
        with pytest.raises(RunError, match="is not finished"):
            export_run(trained, tmp_path / "run")
    finally:
        trained.status.write_text(status)
    assert not (tmp_path / "run").exists()
