"""What a new user meets in the first hour: help, pipes, paths, devices, TensorBoard."""

import importlib
import json
import shutil
import subprocess
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import evade
from evade.cli.main import MISTAKE, READER_GONE, main
from evade.errors import LockUnsupported
from evade.runs.folder import RunFolder
from evade.runs.journal import read_journal
from evade.runs.lock import RunLock
from evade.runtime.machine import Finding
from run_folders import make_finished


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished smoke run."""
    runs_dir = tmp_path_factory.mktemp("trained")
    assert main(["train", "smoke", "--runs-dir", str(runs_dir)]) == 0
    return RunFolder(runs_dir / "smoke" / "minatar-breakout" / "evade" / "seed-0")


def read_points(folder):
    reader = EventAccumulator(str(folder.tensorboard), size_guidance={"scalars": 0})
    reader.Reload()
    return {tag: [(point.step, point.value) for point in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def test_tensorboard_shows_scores_over_real_steps_and_losses_over_updates(trained):
    points = read_points(trained)
    means = {}
    for row in read_journal(trained.scores):
        means.setdefault((row["purpose"], row["real_steps"]), []).append(row["score"])
    assert points["evaluate/score"] == [
        (steps, pytest.approx(sum(values) / len(values))) for (kind, steps), values in means.items() if kind != "score"
    ]
    assert [step for step, _ in points["evaluate/score"]] == [128, 192]
    assert [step for step, _ in points["score/score"]] == [256]
    assert [step for step, _ in points["fit/loss"]] == list(range(1, 12 + 8 + 1))
    assert [step for step, _ in points["dream/return"]] == list(range(1, 4 + 4 + 1))
    assert [step for step, _ in points["posterior/sigma"]] == [128, 192]


def test_a_resumed_run_has_the_events_of_one_that_was_not_interrupted(trained, tmp_path):
    shutil.copytree(trained.path, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert main(["resume", str(folder.path), "--schedule.iterations", "3"]) == 0
    before, after = read_points(trained), read_points(folder)
    for tag in ("evaluate/score", "fit/loss", "dream/return"):
        assert after[tag][: len(before[tag])] == before[tag]
        steps = [step for step, _ in after[tag]]
        assert steps == sorted(set(steps)), f"{tag} shows a place twice"
        assert len(steps) > len(before[tag])


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("cuda:7", "The device cuda:7 cannot be used: "),
        ("gpu", "Invalid machine.device = 'gpu': must be a torch device"),
        ("meta", "The device meta cannot be used"),
    ],
)
def test_a_missing_device_is_one_line_and_leaves_nothing_behind(tmp_path, capsys, device, said):
    assert main(["train", "smoke", "--machine.device", device, "--runs-dir", str(tmp_path / "runs")]) == MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []
    assert main(["explain", "smoke", "--device", device]) == MISTAKE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_doctor_names_the_extra_with_its_brackets(monkeypatch, capsys):
    import evade.runtime.machine as machine

    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    found = machine._extras()
    monkeypatch.setattr(machine, "examine", lambda: [*found, Finding("[red]odd[/red]", "[1]")])
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    for extra in ("atari", "minatar", "minigrid"):
        assert f"pip install 'evade[{extra}]'" in output
    assert "[red]odd[/red]" in output


@pytest.mark.parametrize("words", [["paper", "--table", "runs"], ["paper", "--help"], ["runs", "."]])
def test_a_closed_pipe_ends_the_command_without_a_word(words, tmp_path):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0)
    command = [sys.executable, "-m", "evade", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        process.stdout.close()
        errors = process.stderr.read().decode()
    # Rich ends the process itself, with code 1, when its console finds the pipe closed.
    assert process.returncode in (READER_GONE, 1)
    assert errors == ""


def test_explain_says_how_far_its_measuring_is(capsys, monkeypatch):
    said = []
    from evade.benchmark.progress import ProgressBar

    monkeypatch.setattr(ProgressBar, "advance", lambda self, what, done, total: said.append((what, done, total)))
    assert main(["explain", "smoke", "--device", "cpu"]) == 0
    assert said[0] == ("world-model updates", 0, 13)
    assert said[-1] == ("policy updates", 13, 13)
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
    assert "on cpu with" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "shown"), [(1.523, "1.52 s"), (142.0, "142.00 s"), (0.0221, "22.1 ms")])
def test_durations_are_in_readable_units(seconds, shown):
    from evade.cli.explain import _short_time

    assert _short_time(seconds) == shown


def test_the_version_and_the_help_of_resume(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"evade {evade.__version__}\n"
    for flag in ("--help", "-h"):
        assert main(["resume", flag]) == 0
        assert "usage: evade resume RUN" in capsys.readouterr().out
    assert main(["resume"]) == MISTAKE
    assert capsys.readouterr().err == (
        "evade: usage: evade resume RUN [--schedule.iterations N] [--machine.FIELD VALUE ...]\n"
    )


def test_every_verb_that_reads_runs_takes_their_paths_in_one_way(tmp_path, capsys):
    for seed in range(2):
        make_finished(tmp_path / "a", "evade", "minatar/breakout", seed, 1.0, 2.0)
    make_finished(tmp_path / "b", "simple", "minatar/breakout", 0, 1.0, 2.0)
    paths = [str(tmp_path / name) for name in "ab"]
    assert main(["runs", *paths]) == 0
    assert capsys.readouterr().out.count("finished") == 3
    # A table's name does not swallow the path behind it.
    assert main(["compare", "--table", "games", "--resamples", "10", *paths]) == 0
    assert "Scores in each game" in capsys.readouterr().out
    assert main(["compare", "--table", "games", "--table", "aggregates", "--resamples", "10", *paths]) == 0
    assert "Aggregates over games" in capsys.readouterr().out
    assert main(["report", *paths, "-o", str(tmp_path / "report")]) == 0
    assert main(["index", paths[0]]) == 0
    assert f"{tmp_path / 'a' / 'index.sqlite'}: 2 runs\n" in capsys.readouterr().out


def test_the_package_shows_what_it_offers():
    assert {"load", "__version__"} <= set(dir(evade))
    assert set(evade.__all__) <= set(dir(evade))


def test_without_flock_a_run_is_refused_in_one_line_and_the_rest_works(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr("os.register_at_fork")
    import evade.runs.lock as lock

    module = importlib.reload(lock)
    try:
        with pytest.raises(LockUnsupported, match="Train on Linux or macOS; on Windows, inside WSL"):
            module.RunLock(tmp_path / "lock").__enter__()
        assert not (tmp_path / "lock").exists()
    finally:
        monkeypatch.undo()
        importlib.reload(lock)
    with RunLock(tmp_path / "lock"):
        assert json.loads((tmp_path / "lock").read_text())["pid"]


def test_minatar_starts_without_its_plotting_libraries():
    code = (
        "import sys; from evade.envs.minatar import MinAtarGame; MinAtarGame('breakout').reset(seed=1)\n"
        "print([name for name in ('seaborn', 'pandas', 'matplotlib', 'matplotlib.pyplot') if name in sys.modules])\n"
        "import matplotlib.pyplot as plt; print(plt.figure.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "[]\nfigure\n", done.stderr
