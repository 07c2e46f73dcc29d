import csv
import json
import subprocess
import sys

import pytest

from evade.cli.main import main
from run_folders import make_finished, make_run


@pytest.fixture
def runs_dir(tmp_path):
    for variant, gain in (("simple", 0.0), ("evade", 1.0)):
        for game in ("minatar/breakout", "minatar/freeway"):
            for seed in range(3):
                make_finished(tmp_path / "runs", variant, game, seed, 2.0 + seed + gain * (1 + ("free" in game)))
    make_run(tmp_path / "runs" / "half", status="running")
    return tmp_path / "runs"


def compare(runs_dir, *words):
    return main(["compare", str(runs_dir), "--resamples", "100", *words])


def test_all_tables_are_printed_in_every_form_for_people(runs_dir, capsys):
    for form, sign in (("text", "-----"), ("markdown", "| :-- |"), ("latex", r"\toprule")):
        assert compare(runs_dir, "--baseline", "simple", "--format", form) == 0
        out, err = capsys.readouterr()
        assert out.count("Each variant against simple") == 1
        assert out.count("half is not finished") == 1
        assert sign in out
        assert err == ""


def test_json_holds_the_tables_by_name(runs_dir, capsys):
    assert compare(runs_dir, "--baseline", "simple", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["games", "aggregates", "versus"]
    assert found["versus"]["rows"][0]["record"] == {"wins": 2, "losses": 0, "ties": 0}


def test_csv_holds_one_table_and_says_the_rest_beside_it(runs_dir, capsys):
    assert compare(runs_dir, "--format", "csv") == 2
    assert capsys.readouterr().err == "evade: csv holds one table, got 2: choose one, as in --table games.\n"
    assert compare(runs_dir, "--format", "csv", "--table", "games") == 0
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(out.splitlines()))
    assert [float(row["score_mean"]) for row in rows] == [4, 3, 5, 3]
    assert "half is not finished" in err


def test_the_same_seed_gives_the_same_output(runs_dir, capsys):
    outs = []
    for seed in ("3", "3", "4"):
        assert compare(runs_dir, "--baseline", "simple", "--seed", seed, "--resamples", "5", "--format", "json") == 0
        outs.append(json.loads(capsys.readouterr().out))
    assert outs[0] == outs[1]
    assert outs[0]["aggregates"]["rows"] != outs[2]["aggregates"]["rows"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--baseline", "paper:simple30"], "no scores of 'paper:simple30'"),
        (["--baseline", "der"], "the baseline 'der' has no finished run"),
        (["--table", "versus"], "the table versus needs a baseline"),
    ],
)
def test_a_mistake_is_one_line(runs_dir, capsys, words, message):
    assert compare(runs_dir, *words) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_run_of_another_protocol_is_kept_apart_and_spoils_nothing(runs_dir, capsys):
    assert compare(runs_dir, "--format", "json") == 0
    before = json.loads(capsys.readouterr().out)
    make_finished(runs_dir, "evade", "minatar/asterix", 0, 1.0, evaluation={"temperature": 0.0})
    assert compare(runs_dir, "--format", "json") == 0
    after = json.loads(capsys.readouterr().out)
    for table in ("games", "aggregates"):
        rows = after[table]["rows"]
        assert rows[:-1] == before[table]["rows"]
        assert rows[-1]["suite"] == "MinAtar, protocol 2"
    assert any("evaluation.temperature is 0.0, not absent" in note for note in after["games"]["notes"])


def test_comparing_does_not_load_torch(runs_dir):
    program = (
        "import sys; from evade.cli.compare import compare; from pathlib import Path; "
        f"compare((Path({str(runs_dir)!r}),), resamples=10); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
