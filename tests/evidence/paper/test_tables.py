import csv
import json
from typing import get_args

import pytest

from evade.evidence.paper import TABLES, TableName, build_tables
from evade.evidence.stats import TableFormat

FEW = 200


def table(name):
    return build_tables([name], num_resamples=FEW)[0]


def test_every_table_has_a_builder_and_all_its_rows_in_every_format():
    assert tuple(TABLES) == get_args(TableName)
    for built in build_tables(TABLES, num_resamples=FEW):
        rows = {
            "text": len(built.render("text").split("\n")) - 5 - len(built.notes),
            "markdown": built.render("markdown").count("\n| ") - 2,
            "latex": built.render("latex").count(" \\\\\n") - 1,
            "csv": len(list(csv.DictReader(built.render("csv").split("\n")))),
            "json": len(json.loads(built.render("json"))["rows"]),
        }
        assert rows.keys() == set(get_args(TableFormat))
        # In the text format, wrapped cells take more lines.
        assert rows.pop("text") >= len(built.rows) > 0
        assert set(rows.values()) == {len(built.rows)}, built.title


def test_the_headline_table_shows_the_printed_value_beside_the_recomputed():
    lines = table("headline").render("text").split("\n")
    assert lines[9].split() == [
        "EVaDE-SimPLe",
        "0.682",
        "0.682",
        "0.267",
        "0.267",
        "0.339",
        "0.339",
        "-",
        "-",
        "11",
        "11",
    ]
    assert lines[5].split() == [
        "SimPLe(30)",
        "0.525",
        "0.525",
        "0.151",
        "0.151",
        "0.202",
        "0.202",
        "3W,23L",
        "3W,23L",
        "2",
        "2",
    ]


def test_intervals_of_the_two_agents_do_not_overlap():
    built = build_tables(["intervals"])[0]
    simple, evade = built.column("iqm_interval")[:2]
    assert simple.high < evade.low
    assert evade.show(2) == "[0.30, 0.38]"
    assert built.column("num_games") == [26, 26, 12, 12, 12, 12, 12]


def test_the_seed_decides_the_intervals():
    first, second, again = (build_tables(["intervals"], FEW, seed)[0].rows for seed in (0, 1, 0))
    assert first == again
    assert first != second


def test_each_game_of_the_ablation_stands_above_its_printed_line():
    built = table("ablation-games")
    assert len(built.rows) == 24
    assert built.column("source") == ["runs", "printed"] * 12
    assert built.rows[0][-1].show(1) == built.rows[1][-1].show(1) == "224.2 ± 35.4"


def test_all_runs_and_all_means_are_there():
    assert len(table("runs").rows) == 2 * 26 + 3 * 12
    means = table("means")
    assert len(means.rows) == 26
    assert means.column("best").count("EVaDE-SimPLe") == 11
    pairs = zip(means.column("evade"), means.column("evade_printed"), strict=True)
    assert sum(abs(ours - theirs) > 0.0051 for ours, theirs in pairs) == 1


@pytest.mark.parametrize(("name", "rows"), [("anchors", 26), ("costs", 13), ("disagreements", 4), ("test", 7)])
def test_sizes_of_the_others(name, rows):
    assert len(table(name).rows) == rows
