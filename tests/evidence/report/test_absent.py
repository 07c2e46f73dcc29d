"""What a report leaves out is said: files that are gone, too large, or something else than files."""

import os

import pytest

from evade.cli.main import main
from evade.evidence.report.absent import LARGEST_VIDEO
from evade.evidence.results.inspection import write_inspection
from inspections import make_inspection


@pytest.fixture
def whole(tmp_path, make_report_run):
    run = make_report_run(tmp_path / "runs" / "seed-0")
    write_inspection(run.inspection, make_inspection())
    (run.media / "game.mp4").write_bytes(b"film")
    return run


def report(place, capsys):
    assert main(["report", str(place / "runs"), "-o", str(place / "report")]) == 0
    return capsys.readouterr().err


def test_a_whole_run_is_reported_without_a_word(whole, tmp_path, capsys):
    assert report(tmp_path, capsys) == ""
    assert (tmp_path / "report" / "media" / "run-1-game.mp4").read_bytes() == b"film"


@pytest.mark.parametrize("kind", ["gone", "folder", "pipe", "huge"])
def test_a_video_that_cannot_be_copied_is_named(whole, tmp_path, kind, capsys):
    video = whole.media / "game.mp4"
    video.unlink()
    if kind == "folder":
        video.mkdir()
    elif kind == "pipe":
        os.mkfifo(video)
    elif kind == "huge":
        video.touch()
        os.truncate(video, LARGEST_VIDEO + 1)  # sparse: it takes no room
    said = report(tmp_path, capsys)
    assert f"{whole.path} has no media/game.mp4 that can be shown: it is left out of the report." in said
    assert said.count("\n") == 1
    assert not (tmp_path / "report" / "media").exists()


def test_runs_without_the_numbers_of_figures_are_counted_in_one_line(whole, tmp_path, make_report_run, capsys):
    for seed in (1, 2):
        other = make_report_run(tmp_path / "runs" / f"seed-{seed}", seed=seed)
        (other.media / "game.mp4").write_bytes(b"film")
    said = report(tmp_path, capsys)
    assert f"{tmp_path / 'runs' / 'seed-1'} (like 1 more) has no inspection.json" in said
    assert said.count("\n") == 1


def test_a_run_that_still_trains_and_one_without_event_layers_lack_nothing(whole, tmp_path, make_report_run, capsys):
    make_report_run(tmp_path / "runs" / "training", seed=1, status="running")
    plain = make_report_run(tmp_path / "runs" / "plain", variant="simple")
    (plain.media / "game.mp4").write_bytes(b"film")
    assert report(tmp_path, capsys) == ""
