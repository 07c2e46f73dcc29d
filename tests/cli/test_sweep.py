"""The real command with real runs: each child is an interpreter of its own, so the runs are few."""

import csv
import json
import os
import signal
import subprocess
import sys

import crashing
from evade.cli.main import main
from evade.sweeps.plan import expand
from evade.sweeps.read_plan import plan_from
from forking import EvadeProcess
from run_folders import make_finished

WORDS = ["--preset", "smoke", "--games", "minatar/breakout", "--variants", "evade", "--no-measure"]
# The setting of `crashing.command`, so that both commands mean the same runs.
SETTINGS = ["--set", "world_model.reward.sigma_init=1", "--set", "machine.save_seconds=0.2"]


def start(runs_dir, *words, **environment):
    command = ["sweep", *WORDS, "--runs-dir", str(runs_dir), *words]
    return EvadeProcess(command, os.environ | {"OMP_WAIT_POLICY": "PASSIVE"} | environment)


def run(runs_dir, *words, **environment):
    process = start(runs_dir, *words, **environment)
    output, _ = process.communicate(timeout=240)
    return process.returncode, output


def test_a_sweep_with_killed_runs_goes_on_and_ends_bit_for_bit_as_the_runs_do_alone(tmp_path, capsys):
    words = ("--seeds", "3-4", "--jobs", "2", *SETTINGS)
    code, output = run(tmp_path / "sweep", *words, "--retries", "0", EVADE_FAILPOINT="improve:update:2")
    assert code == 1, output
    assert output.count("killed by signal 9; given up") == 2
    assert "No run is finished" in output

    code, output = run(tmp_path / "sweep", *words)
    assert code == 0, output
    assert "standing:  2 running" in output
    assert "2 of 2 runs finished" in output
    assert output.count("resumed at") == 2

    folders = sorted((tmp_path / "sweep" / "smoke").rglob("seed-*"))
    for seed, folder in zip("34", folders, strict=True):
        crashing.finish(tmp_path / seed, "minatar", ("--seed", seed))
        assert crashing.digest(folder) == crashing.digest(tmp_path / seed)
        assert crashing.folder_of(tmp_path / seed).parent.name == folder.parent.name

    (sweep,) = (tmp_path / "sweep" / "sweeps").iterdir()
    assert (sweep / "report" / "index.html").exists()
    assert "Scores in each game" in (sweep / "comparison.md").read_text()
    with (sweep / "scores.csv").open() as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["3", "4"]

    assert main(["sweep", "status", str(tmp_path / "sweep")]) == 0
    assert "2 finished" in capsys.readouterr().out


def test_ctrl_c_saves_all_runs_and_says_how_to_go_on(tmp_path):
    process = start(tmp_path, "--set", "schedule.first_fit_updates=100000")
    crashing.wait_for_phase(tmp_path, "fit")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 75, output
    assert "To go on:  evade sweep --preset smoke" in output
    status = json.loads((crashing.folder_of(tmp_path) / "status.json").read_text())
    assert (status["status"], status["phase"]) == ("stopped", "fit")
    assert not list(tmp_path.rglob("scores.csv"))


def test_a_dry_run_prints_the_plan_and_leaves_nothing_behind(tmp_path, capsys):
    assert main(["sweep", *WORDS, "--runs-dir", str(tmp_path), "--seeds", "1-3", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "3 runs of preset smoke" in out
    assert "3 new" in out
    assert not list(tmp_path.iterdir())


def test_a_finished_sweep_only_summarises(tmp_path, capsys):
    for variant, seed, score in (("simple", 1, 1.0), ("simple", 2, 2.0), ("evade", 1, 3.0), ("evade", 2, 4.0)):
        folder = make_finished(tmp_path / "smoke", variant, "minatar/breakout", seed, score)
        folder.status.write_text(json.dumps({"status": "finished", "iterations": 2}))
    words = [*WORDS, "--variants", "simple,evade", "--seeds", "1-2", "--no-report", "--runs-dir", str(tmp_path)]
    assert main(["sweep", *words]) == 0
    out = capsys.readouterr().out
    assert "standing:  4 finished" in out
    assert "Each variant against simple" in out
    # A longer plan has other runs to do; finished ones of another length are not done.
    assert main(["sweep", *words, "--set", "schedule.iterations=3", "--dry-run"]) == 0
    assert "4 stopped" in capsys.readouterr().out


def test_a_thousand_planned_runs_of_which_990_are_done_start_within_two_seconds(tmp_path):
    plan = {"preset": "minatar", "games": "minatar", "variants": "all", "seeds": "1-40"}
    runs = expand(plan_from(plan))
    assert len(runs) == 1000
    for run in runs[:990]:
        folder = tmp_path / run.folder
        folder.mkdir(parents=True)
        standing = {"status": "finished", "iteration": 30, "iterations": 30, "phase": "score"}
        (folder / "status.json").write_text(json.dumps(standing))
        (folder / "timing.jsonl").write_text('{"iteration": 1, "phase": "fit", "seconds": 3.5}\n' * 150)
    # Processor time, because others use this machine too; from the start of the interpreter to that of the first run.
    program = (
        "import os, sys, time, evade.sweeps.local as local\n"
        "def start(*words, **more):\n"
        "    print('seconds', time.process_time(), flush=True)\n"
        "    os._exit(0)\n"
        "local.start_training = start\n"
        "from evade.cli.main import main\n"
        "main(sys.argv[1:])\n"
    )
    words = ["sweep", *(word for name, value in plan.items() for word in (f"--{name}", value))]
    command = [sys.executable, "-c", program, *words, "--runs-dir", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "990 finished, 10 new" in result.stdout
    assert float(result.stdout.split()[-1]) < 2.0


def test_a_mistake_is_one_line(tmp_path, capsys):
    assert main(["sweep", "--preset", "smoke", "--seeds", "x", "--runs-dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["sweep", "status", str(tmp_path)]) == 2
    assert "there is no sweep in" in capsys.readouterr().err
