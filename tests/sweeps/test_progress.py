import io
import json

import pytest
from rich.console import Console

from evade.cli.main import main
from evade.sweeps import local
from evade.sweeps.carry_out import DIVERGED, LOST
from evade.sweeps.pace import Pace
from evade.sweeps.plan import PlannedRun
from evade.sweeps.record import load_plan, save_plan, sweep_folder
from evade.sweeps.show import SweepDisplay, describe_code
from evade.sweeps.standing import latest_score, read_standing
from run_folders import write_journal

RUNS = [PlannedRun("smoke", "minatar/breakout", "evade", seed, (), f"smoke/seed-{seed}", 4) for seed in range(3)]


def put(runs_dir, run, word, iteration=1, phase="collect", **more):
    folder = runs_dir / run.folder
    folder.mkdir(parents=True, exist_ok=True)
    standing = {"status": word, "iteration": iteration, "iterations": 4, "phase": phase, **more}
    (folder / "status.json").write_text(json.dumps(standing))
    return folder


def test_a_standing_is_what_the_status_file_says(tmp_path):
    assert read_standing(tmp_path, RUNS[0]).word == "new"
    put(tmp_path, RUNS[0], "running", 3, "collect")
    assert read_standing(tmp_path, RUNS[0]).share(RUNS[0]) == pytest.approx(0.5)
    folder = put(tmp_path, RUNS[0], "finished", 4, "score", score={"mean": 2.5})
    standing = read_standing(tmp_path, RUNS[0])
    assert standing.is_done(RUNS[0])
    assert (standing.share(RUNS[0]), standing.score) == (1.0, 2.5)
    (folder / "status.json").write_text("{")
    assert read_standing(tmp_path, RUNS[0]).word == "damaged"


def test_the_score_so_far_is_the_last_evaluations_mean(tmp_path):
    assert latest_score(tmp_path, RUNS[0]) is None
    folder = put(tmp_path, RUNS[0], "running")
    rows = [("evaluate", 1, 9.0), ("evaluate", 2, 1.0), ("evaluate", 2, 2.0)]
    filling = [{"purpose": "evaluate", "iteration": 0, "score": 7.0, "filling": "x" * 100}] * 400
    records = [{"purpose": purpose, "iteration": number, "score": score} for purpose, number, score in rows]
    write_journal(folder / "scores.jsonl", filling + records)
    with (folder / "scores.jsonl").open("a") as file:
        file.write('{"purpose": "evaluate", "iter')  # being written
    assert latest_score(tmp_path, RUNS[0]) == 1.5


def test_the_time_left_is_the_estimates_until_it_is_measured(tmp_path):
    now = [0.0]
    pace = Pace(tmp_path, RUNS, 80.0, clock=lambda: now[0])
    assert pace.total_left(RUNS, 2) == 120.0  # 3 runs of 80 s, two at a time
    pace.start(RUNS[0])
    now[0] = 30.0
    put(tmp_path, RUNS[0], "running", 3, "collect")
    pace.update(RUNS[0])
    # Half of it took 30 s, so a run takes 60 s.
    assert pace.seconds_left(RUNS[0]) == pytest.approx(30.0)
    assert pace.total_left(RUNS, 2) == pytest.approx((30 + 60 + 60) / 2)
    put(tmp_path, RUNS[0], "finished", 4, "score")
    now[0] = 50.0
    pace.end(RUNS[0])
    assert pace.seconds_per_run == pytest.approx(50.0)
    assert pace.total_left(RUNS[1:], 2) == pytest.approx(50.0)


def test_a_terminal_shows_a_table_and_anything_else_lines(tmp_path):
    folder = sweep_folder(tmp_path, "test")
    save_plan(folder, RUNS, None)
    texts = []
    for is_terminal in (True, False):
        put(tmp_path, RUNS[1], "running", 1)
        console = Console(file=io.StringIO(), force_terminal=is_terminal, width=100, height=20)
        with SweepDisplay(folder, RUNS, Pace(tmp_path, RUNS, 80.0), 2, console) as display:
            display.started(RUNS[1], 1)
            put(tmp_path, RUNS[1], "running", 3, "fit")
            display._read_at = -100.0
            display.refresh((RUNS[1],), 2, is_stopping=False)
            put(tmp_path, RUNS[1], "finished", 4, "score", score={"mean": 2.5})
            display.ended(RUNS[1], 0, is_retried=False)
            display.started(RUNS[2], 2)
            display.ended(RUNS[2], 1, is_retried=False)
        texts.append(console.file.getvalue())
    table, lines = texts
    assert "51%" in table
    assert "3/4" in table
    assert "2 waiting" in table
    assert "─" not in lines
    for text in texts:
        assert "seed 1: finished, score 2.50 [1 of 3 runs finished, about" in text
        assert "seed 2: started, attempt 2" in text
        assert "seed 2: failed with exit code 1; given up" in text


def test_an_exit_code_in_words():
    assert [describe_code(code) for code in (DIVERGED, -9, 2)] == [
        "training diverged",
        "killed by signal 9",
        "failed with exit code 2",
    ]
    assert "machine was lost" in describe_code(LOST)


def test_cores_and_memory_limit_the_runs_at_a_time(monkeypatch):
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(local, "_quota", lambda cores: cores)
    monkeypatch.setattr(local, "available_memory", lambda: 10.5e9)
    assert local.count_slots(1e9) == 8
    assert local.count_slots(1e9, threads=4) == 2
    assert local.count_slots(3e9) == 3
    assert local.count_slots(1e12) == 1


def test_this_machines_free_memory_is_known():
    assert 1e8 < local.available_memory() < 1e14


def test_a_saved_plan_comes_back_and_cannot_lead_out_of_the_runs_folder(tmp_path, capsys):
    folder = sweep_folder(tmp_path, "test")
    save_plan(folder, RUNS, None)
    assert load_plan(folder).runs == tuple(RUNS)
    folder.plan.write_text(folder.plan.read_text().replace("smoke/seed-1", "../../etc"))
    assert main(["sweep", "status", str(tmp_path)]) == 2
    assert "leads out of the runs folder" in capsys.readouterr().err
