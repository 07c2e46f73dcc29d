import json
import struct

import pytest

from evade.cli.main import main


def test_all_tables_are_printed_by_default(capsys):
    assert main(["paper", "--resamples", "200"]) == 0
    out = capsys.readouterr().out
    for title in (
        "Atari 100K, 26 games",
        "Aggregates with 95 % intervals",
        "paired t-test on mean HNS",
        "Ablation, 12 games x 5 runs",
        "Ablation, each game",
        "All runs printed in the paper",
        "Mean scores",
        "Other methods on Atari 100K",
        "Disagreements between the paper and its own data",
    ):
        assert title in out
    assert max(map(len, out.split("\n"))) <= 140


def test_json_holds_the_tables_by_name(capsys):
    assert main(["paper", "--table", "headline", "--table", "disagreements", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert list(tables) == ["headline", "disagreements"]
    assert round(tables["headline"]["rows"][-1]["iqm"], 3) == 0.339
    assert len(tables["disagreements"]["rows"]) == 4


def test_csv_needs_one_table(capsys):
    assert main(["paper", "--format", "csv"]) == 2
    assert "csv holds one table, got 10" in capsys.readouterr().err
    assert main(["paper", "--table", "runs", "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 88


def test_figures_are_written_and_named(capsys, tmp_path):
    folder = tmp_path / "figures"
    assert main(["paper", "--figure", str(folder)]) == 0
    names = ["headline.png", "ablation.png", "profile.png", "ablation-profile.png", "improvement.png"]
    assert capsys.readouterr().out.splitlines() == [str(folder / name) for name in names]
    for name in names:
        data = (folder / name).read_bytes()
        width, height = struct.unpack(">II", data[16:24])
        assert data.startswith(b"\x89PNG")
        assert width == 670
        assert height > 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resamples", "0", "--table", "intervals"], "Invalid num_resamples = 0"),
        (["--seed", "-1", "--table", "intervals"], "Invalid seed = -1"),
        (["--figure", "/proc/nowhere"], "cannot be written"),
    ],
)
def test_a_mistake_is_one_line(capsys, arguments, message):
    assert main(["paper", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
