"""The runs that a release brings along, at the smallest size."""

import json
import math
import shutil
from pathlib import Path

import pytest
import showcase
from showcase import export_run, make_showcase

import evade
from evade.cli.main import MISTAKE, main
from evade.errors import RunError
from evade.evidence.results import read_run
from evade.evidence.stats import estimate
from evade.runs.documents import read_status, write_status
from evade.runs.folder import RunFolder, find_runs
from evade.viewing.look.source import RunSource

RELEASED = Path(__file__).parents[2] / "showcase"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("showcase")
    assert make_showcase(folder / "training", folder / "runs", "smoke") == 0
    return folder


@pytest.fixture(scope="module")
def trained(made):
    return RunFolder(made / "training" / "smoke" / "minatar-breakout" / "evade" / "seed-0")


def test_two_runs_are_exported_and_small(made):
    runs = find_runs(made / "runs")
    assert [run.path.name for run in runs] == ["minatar-breakout-evade", "minigrid-DoorKey-5x5-evade"]
    for run in runs:
        (checkpoint,) = run.checkpoints.iterdir()
        kept = {path.stem for path in checkpoint.glob("*.safetensors")}
        assert kept == {"policy", "world_model", "draw"}
        assert not list(run.path.rglob("*.mp4"))


@pytest.mark.parametrize("name", ["minatar-breakout-evade", "minigrid-DoorKey-5x5-evade"])
def test_an_exported_run_can_be_used_at_once(made, name, tmp_path, capsys):
    run = made / "runs" / name
    original = made / "training" / "smoke" / name.removesuffix("-evade") / "evade" / "seed-0"
    assert evade.load(run).config == evade.load(original).config
    words = ("--episodes", "2", "--as-json")
    shown = []
    for path in (run, original):
        assert main(["evaluate", str(path), *words]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1]
    assert len(shown[0]["episodes"]) == 2
    film = RunSource(run).film  # of `evade look`
    assert film.num_chunks == len(list((run / "replay").iterdir())) == 3
    assert film.episodes(2)
    assert main(["report", str(run), "--output", str(tmp_path / "report")]) == 0
    assert main(["compare", str(run)]) == 0


def test_the_model_card_has_the_runs_own_numbers(made, trained):
    card = (made / "runs" / "minatar-breakout-evade" / "MODEL_CARD.md").read_text()
    mean = json.loads(trained.status.read_text())["score"]["mean"]
    assert f"| score | {mean:.2f} ± " in card
    assert "over 3 games of this one run" in card
    assert "| real steps | 256 |" in card
    assert f"evade {evade.__version__}" in card


def test_an_exported_run_refuses_to_be_trained_further(made, tmp_path, capsys):
    shutil.copytree(made / "runs" / "minatar-breakout-evade", tmp_path / "run")
    assert main(["resume", str(tmp_path / "run"), "--schedule.iterations", "3"]) == MISTAKE
    assert "Nothing was changed" in capsys.readouterr().err


def test_what_is_too_large_is_refused(made, monkeypatch):
    monkeypatch.setattr(showcase, "MOST_BYTES", 1000)
    with pytest.raises(RunError, match="at most 1,000 are allowed"):
        make_showcase(made / "training", made / "runs", "smoke")


def test_an_unfinished_run_is_not_exported(trained, tmp_path):
    status = trained.status.read_text()
    write_status(trained, "running", read_status(trained).standing)
    try:
        with pytest.raises(RunError, match="is not finished"):
            export_run(trained, tmp_path / "run")
    finally:
        trained.status.write_text(status)
    assert not (tmp_path / "run").exists()


def test_the_released_runs_are_small_and_complete():
    assert sum(path.stat().st_size for path in RELEASED.rglob("*") if path.is_file()) <= showcase.MOST_BYTES
    runs = find_runs(RELEASED)
    assert [read_run(run.path).game for run in runs] == list(showcase.GAMES)
    assert all((run.path / "MODEL_CARD.md").is_file() and read_run(run.path).is_finished for run in runs)


@pytest.mark.parametrize("name", ["minatar-breakout-evade", "minigrid-DoorKey-5x5-evade"])
def test_a_released_run_plays_as_its_card_says(name, capsys):
    on_card = estimate(read_run(RELEASED / name).final_scores)
    assert f"| score | {on_card.show(2)}: " in (RELEASED / name / "MODEL_CARD.md").read_text()
    assert main(["evaluate", str(RELEASED / name), "--episodes", "25", "--seed", "7", "--as-json"]) == 0
    played = estimate([episode["score"] for episode in json.loads(capsys.readouterr().out)["episodes"]])
    assert abs(played.mean - on_card.mean) <= 5 * math.hypot(played.standard_error, on_card.standard_error) + 0.04
