import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from evade.cli.main import main
from evade.errors import IndexUnusable, RunError
from evade.evidence.results import IndexedRun, build_index, query_metric, query_runs
from run_folders import make_finished, make_run


def contents(database):
    with closing(sqlite3.connect(database)) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
            for table in ("runs", "scores", "metrics")
        }


def loss(step, value):
    return {"iteration": 1, "phase": "fit", "step": step, "values": {"fit/loss": value, "fit/gradient_norm": 1.0}}


def many_numbers(count):
    return [loss(step, float(step)) for step in range(count)]


@pytest.fixture
def runs_dir(tmp_path):
    make_finished(tmp_path / "runs", "simple", "minatar/breakout", 0, 1.0, 2.0, metrics=[loss(10, 0.5), loss(20, 0.25)])
    make_finished(tmp_path / "runs", "evade", "minatar/breakout", 1, 3.0)
    make_run(tmp_path / "runs" / "half", ((3, (9.0,)),), status="running", game="minatar/freeway")
    return tmp_path / "runs"


def test_the_index_holds_what_the_folders_hold(runs_dir, tmp_path):
    database = tmp_path / "new" / "index.sqlite"
    assert build_index(runs_dir, database) == 3
    assert query_runs(database) == [
        IndexedRun("minatar-breakout/evade/seed-1", "minatar/breakout", "evade", 1, "finished", 3.0),
        IndexedRun("minatar-breakout/simple/seed-0", "minatar/breakout", "simple", 0, "finished", 1.5),
        IndexedRun("half", "minatar/freeway", "evade", 4, "running", None),
    ]
    assert [run.seed for run in query_runs(database, variant="evade", game="minatar/breakout")] == [1]
    assert query_runs(database, variant="evade' OR 1") == []
    found = contents(database)
    assert {row[0]: row[-1] for row in found["runs"]} == {
        "minatar-breakout/simple/seed-0": 2,
        "minatar-breakout/evade/seed-1": 1,
        "half": 0,
    }, "number of final episodes"
    assert len(found["scores"]) == 3 + 2 + 2
    assert ("minatar-breakout/simple/seed-0", "score", 3, 192, 1, 2.0, 7) in found["scores"]


def test_a_metric_comes_back_in_its_order(runs_dir, tmp_path):
    build_index(runs_dir, tmp_path / "index.sqlite")
    points = query_metric(tmp_path / "index.sqlite", "minatar-breakout/simple/seed-0", "fit/loss")
    assert points == [(1, "fit", 10, 0.5), (1, "fit", 20, 0.25)]


def test_building_again_doubles_nothing_and_follows_the_folders(runs_dir, tmp_path):
    database = tmp_path / "index.sqlite"
    build_index(runs_dir, database)
    first = contents(database)
    build_index(runs_dir, database)
    assert contents(database) == first
    database.unlink()
    build_index(runs_dir, database)
    assert contents(database) == first
    (runs_dir / "half" / "config.json").unlink()
    assert build_index(runs_dir, database) == 2
    assert len(query_runs(database)) == 2


def test_a_kill_in_the_middle_leaves_the_old_content(runs_dir, tmp_path):
    database = tmp_path / "index.sqlite"
    build_index(runs_dir, database)
    before = contents(database)
    # More than SQLite's cache holds, so that the file itself is half written when the process dies.
    make_finished(runs_dir, "evade", "minatar/asterix", 5, 1.0, metrics=many_numbers(40_000))
    size = database.stat().st_size
    command = [sys.executable, "-m", "evade", "index", str(runs_dir), "--database", str(database)]
    killed = subprocess.run(command, env=os.environ | {"EVADE_FAILPOINT": "index:run:2"}, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert database.stat().st_size > size
    assert len(query_runs(database)) == 3
    assert contents(database) == before
    assert build_index(runs_dir, database) == 4
    assert len(contents(database)["metrics"]) == 80_000 + 4


def test_a_damaged_run_is_named_and_left_out_and_if_all_are_the_old_content_stays(runs_dir, tmp_path, capsys):
    database = tmp_path / "index.sqlite"
    whole = build_index(runs_dir, database)
    damaged = sorted(runs_dir.rglob("scores.jsonl"))
    for number, scores in enumerate(damaged, start=1):
        before = contents(database)
        scores.write_text("{broken\n" + scores.read_text())
        code = main(["index", str(runs_dir), "--database", str(database)])
        assert code == (0 if number < len(damaged) else 2)
        assert str(scores) in capsys.readouterr().err
        if code == 0:
            assert len(query_runs(database)) == whole - number
    assert contents(database) == before


def test_no_runs_leave_the_index_alone(runs_dir, tmp_path):
    database = tmp_path / "index.sqlite"
    build_index(runs_dir, database)
    with pytest.raises(RunError, match="there are no runs in"):
        build_index(tmp_path / "typo", database)
    assert len(query_runs(database)) == 3


def test_a_file_of_somebody_else_is_not_touched(runs_dir, tmp_path):
    theirs = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(theirs)) as connection, connection:
        connection.execute("CREATE TABLE runs (kilometres REAL)")
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and long enough to be looked at " * 10)
    for file, message in ((theirs, "of another program"), (text, "file is not a database")):
        before = file.read_bytes()
        for use in (lambda file: build_index(runs_dir, file), query_runs):
            with pytest.raises(IndexUnusable, match=message):
                use(file)
        assert file.read_bytes() == before


def test_an_index_that_is_not_there_is_not_made_by_asking(tmp_path):
    with pytest.raises(IndexUnusable, match="there is no index at"):
        query_runs(tmp_path / "index.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_the_command_puts_the_index_beside_the_runs(runs_dir, capsys):
    assert main(["index", str(runs_dir)]) == 0
    assert capsys.readouterr().out == f"{runs_dir / 'index.sqlite'}: 3 runs\n"
    assert len(query_runs(runs_dir / "index.sqlite")) == 3
