import os
import subprocess
import sys

from evade.runs.folder import RunFolder, find_runs


def test_the_names_inside_a_run_folder(tmp_path):
    run = RunFolder(tmp_path)
    names = {
        "config": "config.json",
        "status": "status.json",
        "metrics": "metrics.jsonl",
        "scores": "scores.jsonl",
        "timing": "timing.jsonl",
        "environment": "environment.txt",
        "lock": "lock",
        "checkpoints": "checkpoints",
        "replay": "replay",
        "media": "media",
        "tensorboard": "tensorboard",
        "post_mortem": "post_mortem",
    }
    assert {name: getattr(run, name) for name in names} == {name: tmp_path / file for name, file in names.items()}


def test_create_makes_the_folders_and_may_be_repeated(tmp_path):
    run = RunFolder(tmp_path / "domain" / "game")
    run.create()
    (run.checkpoints / "kept").touch()
    run.create()
    assert {path.name for path in run.path.iterdir()} == {
        "checkpoints",
        "replay",
        "media",
        "tensorboard",
        "post_mortem",
    }
    assert (run.checkpoints / "kept").exists()


def test_find_runs_looks_five_folders_deep_and_not_inside_runs(tmp_path):
    (tmp_path / "empty").mkdir()
    for place in ("b/run", "b/run/inside", "a/1/2/3/4", "c/1/2/3/4/too-deep"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").touch()
    assert find_runs(tmp_path) == [RunFolder(tmp_path / "a/1/2/3/4"), RunFolder(tmp_path / "b/run")]


def test_find_runs_does_not_walk_in_circles(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    (tmp_path / "circle").symlink_to(tmp_path)
    assert find_runs(tmp_path) == [RunFolder(tmp_path / "run")]


def test_a_run_is_found_when_it_is_named_itself_and_nothing_where_there_is_nothing(tmp_path):
    assert find_runs(tmp_path / "missing") == []
    (tmp_path / "config.json").touch()
    assert find_runs(tmp_path) == [RunFolder(tmp_path)]


def test_looking_at_runs_does_not_load_torch():
    modules = ", ".join(f"evade.runs.{name}" for name in ("folder", "files", "lock", "journal", "manifest"))
    code = f"import sys, evade.runs.failpoints, {modules}; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.strip() == "False", result.stderr


def test_a_run_without_its_settings_is_not_overlooked_and_an_unreadable_folder_is_named(tmp_path, monkeypatch):
    RunFolder(tmp_path / "runs" / "lost").create()
    (tmp_path / "runs" / "closed").mkdir()
    scan, warnings = os.scandir, []

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [run.path.name for run in find_runs(tmp_path / "runs", warnings.append)] == ["lost"]
    assert warnings == [f"{tmp_path / 'runs' / 'closed'} cannot be searched for runs (Permission denied)."]


def test_videos_are_regular_files_with_names_of_ours(tmp_path):
    run = RunFolder(tmp_path)
    assert run.videos() == []
    run.create()
    for name in ("game.mp4", ".tmp-game.mp4", "notes.txt", "a\nb.mp4"):
        (run.media / name).touch()
    (run.media / "link.mp4").symlink_to(run.media / "game.mp4")
    (run.media / "folder.mp4").mkdir()
    assert [path.name for path in run.videos()] == ["game.mp4"]
