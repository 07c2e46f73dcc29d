"""A run folder that was changed, received or damaged, as the commands meet it."""

import json
import os
import re
import shutil
import signal
import sys
from urllib.request import urlopen

import pytest
from safetensors.torch import load, save

import evade
from chaos.runs import newest_checkpoint, reseal, reseal_document
from devtools import wait_until
from evade.cli.main import main
from evade.errors import ImportRefused
from evade.runs.folder import RunFolder, find_runs
from forking import EvadeProcess
from small_runs import make_small_run


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    place = tmp_path_factory.mktemp("original")
    runs = place / "runs"
    assert main(["train", "smoke", "evade", "--runs-dir", str(runs)]) == 0
    assert main(["report", str(runs), "-o", str(place / "report")]) == 0
    return place


@pytest.fixture
def place(original, tmp_path):
    return shutil.copytree(original, tmp_path / "place")


@pytest.fixture
def folder(place):
    (found,) = find_runs(place / "runs")
    return found


def resume(folder, *words):
    return main(["resume", str(folder.path), *words])


def edit_a_score(folder):
    lines = folder.scores.read_text().splitlines(keepends=True)
    record = json.loads(lines[-1])
    lines[-1] = json.dumps(record | {"score": record["score"] + 1}) + "\n"
    folder.scores.write_text("".join(lines))


def drop_the_last_score(folder):
    lines = folder.scores.read_text().splitlines(keepends=True)
    folder.scores.write_text("".join(lines[:-1]))


@pytest.mark.parametrize("change", [edit_a_score, drop_the_last_score])
def test_a_changed_score_is_believed_by_no_command(place, folder, change, capsys):
    whole, status = folder.scores.read_bytes(), folder.status.read_bytes()
    change(folder)
    for words in (
        ["compare", str(place / "runs")],
        ["index", str(place / "runs")],
        ["report", str(place / "runs"), "-o", str(place / "new")],
        ["report", str(place / "runs"), "-o", str(place / "report"), "--verify"],
    ):
        assert main(words) == 2, words
        assert "scores.jsonl" in capsys.readouterr().err
    assert folder.status.read_bytes() == status
    # Back to the checkpoint before the final games, which are played again.
    assert resume(folder) == 0
    assert "scores.jsonl does not fit the checkpoint" in capsys.readouterr().out
    assert folder.scores.read_bytes() == whole


def test_a_changed_score_before_all_checkpoints_is_refused_and_the_run_stays_finished(folder, capsys):
    status = folder.status.read_bytes()
    folder.scores.write_bytes(folder.scores.read_bytes().replace(b'"score"', b'"scorE"', 1))
    assert resume(folder) == 2
    assert "scores.jsonl" in capsys.readouterr().err
    assert folder.status.read_bytes() == status


def test_a_bad_byte_in_the_metrics_is_cut_back_to_an_older_checkpoint_and_the_run_ends_the_same(folder, capsys):
    whole = folder.metrics.read_bytes()
    committed = json.loads((max(folder.checkpoints.iterdir()) / "state.json").read_text())["committed"]["metrics"]
    assert committed["size"] == len(whole)
    folder.metrics.write_bytes(whole[:-2] + b"\xff\n")
    assert resume(folder) == 0
    assert "is damaged and skipped" in capsys.readouterr().out
    assert folder.metrics.read_bytes() == whole


def test_a_bad_byte_at_the_beginning_of_the_metrics_does_not_end_a_run(folder, capsys):
    whole = folder.metrics.read_bytes()
    folder.metrics.write_bytes(b"\xff" + whole[1:])
    assert resume(folder, "--schedule.iterations", "3") == 0
    assert "1 of its lines cannot be read" in capsys.readouterr().out
    assert (folder.path / "metrics.damaged-1.jsonl").exists()
    assert main(["compare", str(folder.path)]) == 0


def test_moments_of_another_shape_are_refused_in_one_line(folder, capsys):
    checkpoint = max(folder.checkpoints.iterdir())
    path = checkpoint / "learner.safetensors"
    path.write_bytes(save({name: t[:1].clone() if t.dim() else t for name, t in load(path.read_bytes()).items()}))
    reseal(checkpoint)
    capsys.readouterr()
    assert resume(folder, "--schedule.iterations", "3") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "learner: its optimiser has 0.exp_avg" in error
    assert json.loads(folder.status.read_text())["status"] == "finished"


def test_a_module_is_imported_only_if_allowed(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "helper_of_a_stranger.py").write_text("raise SystemError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = json.loads(folder.config.read_text())
    config["settings"]["game"] = "helper_of_a_stranger:x"
    reseal_document(folder.config, config)
    look = ["look", str(folder.path), "--no-browser"]
    figures = ["figures", str(folder.path), "-o", str(tmp_path / "out")]
    futures = ["futures", str(folder.path), "--to", str(tmp_path / "futures.png")]
    for words in (*([verb, str(folder.path)] for verb in ("evaluate", "resume", "posterior")), look, figures, futures):
        assert main(words) == 2
        assert "--allow-import helper_of_a_stranger" in capsys.readouterr().err
        assert "helper_of_a_stranger" not in sys.modules
    with pytest.raises(ImportRefused, match="allow_import="):
        evade.load(folder.path)
    for words in (["evaluate", str(folder.path)], look, figures, futures):
        assert main([*words, "--allow-import", "helper_of_a_stranger"]) == 2
        assert "SystemError: imported" in capsys.readouterr().err


def test_a_run_of_ones_own_game_can_be_looked_at_and_plotted(tmp_path):
    """In processes of their own, where the module is not imported yet."""
    run = make_small_run(tmp_path / "run", "weighting", game="fake_registered:EvadeCatch-v0")
    allowed = ["--allow-import", "fake_registered"]
    for words in (["figures", "-o", str(tmp_path / "figures")], ["futures", "--to", str(tmp_path / "futures.png")]):
        process = EvadeProcess([words[0], str(run), *words[1:], *allowed], dict(os.environ))
        output, _ = process.communicate(120)
        assert process.returncode == 0, output
    assert (tmp_path / "figures" / "draws.svg").exists()
    assert (tmp_path / "futures.png").exists()
    process = EvadeProcess(["look", str(run), "--no-browser", *allowed], dict(os.environ))
    url = wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", process._output.read_text()), 60)[0]
    with urlopen(url) as page:  # noqa: S310 - our own address
        assert b"evade look" in page.read()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(20)
    assert process.returncode == 0, output


def test_another_number_of_threads_is_said_on_resuming(folder, capsys):
    assert resume(folder, "--machine.threads", "2") == 0
    assert "threads was 1, is 2" in capsys.readouterr().out


def test_a_run_is_finished_without_ffmpeg_and_the_doctor_says_what_is_missing(folder, monkeypatch, capsys):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/absent/ffmpeg")
    for video in folder.videos():
        video.unlink()
    assert resume(folder, "--schedule.iterations", "3") == 0
    output = capsys.readouterr().out
    assert "game.mp4 is left out" in output
    assert json.loads(folder.status.read_text())["status"] == "finished"
    assert (folder.media / "learning_curve.png").exists()
    from evade.runtime.machine import _find_ffmpeg

    assert not _find_ffmpeg().is_well
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE")
    assert _find_ffmpeg().is_well


def test_one_bad_folder_is_named_and_the_others_are_used(place, folder, capsys):
    for name, text in (("foreign", '{"name": "theirs"}'), ("broken", "{")):
        bad = place / "runs" / name
        bad.mkdir()
        (bad / "config.json").write_text(text)
    for words in (["compare"], ["report", "-o", str(place / "report")]):
        assert main([words[0], str(place / "runs"), *words[1:]]) == 0
        error = capsys.readouterr().err
        assert f"left out: {place / 'runs' / 'foreign'} cannot be read" in error
        assert f"left out: {place / 'runs' / 'broken'} cannot be read" in error
    folder.status.write_text("[]")
    assert main(["runs", str(place / "runs")]) == 0
    assert capsys.readouterr().out.count("unreadable") == 3


def test_a_link_among_the_videos_is_not_copied_into_a_report(place, folder):
    (place / "secret.txt").write_text("a secret")
    (folder.media / "game.mp4").unlink()
    (folder.media / "game.mp4").symlink_to(place / "secret.txt")
    (folder.media / ".tmp-dream.mp4").write_text("unfinished")
    assert main(["report", str(folder.path), "-o", str(place / "new")]) == 0
    assert {path.name for path in (place / "new" / "media").iterdir()} == {"run-1-dream.mp4", "run-1-draws.mp4"}


def test_names_are_shown_as_they_are(place, folder, capsys):
    named = folder.path.parent / "[bold]\x1b[31m"
    folder.path.rename(named)
    assert main(["runs", str(named.parent)]) == 0
    output = capsys.readouterr().out
    assert "[bold]\\x1b[31m" in output
    assert "\x1b" not in output


def test_a_dead_run_is_not_shown_as_running(folder, capsys):
    status = json.loads(folder.status.read_text())
    reseal_document(folder.status, status | {"status": "running"})
    assert main(["runs", str(folder.path)]) == 0
    assert "interrup" in capsys.readouterr().out


def test_the_newest_checkpoint_helper_finds_one(place):
    assert newest_checkpoint(place).name.isdigit()
    assert RunFolder(newest_checkpoint(place).parent.parent).config.exists()
