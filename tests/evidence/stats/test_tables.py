import csv
import json

import pytest

from evade.errors import TableError
from evade.evidence.stats import Column, Estimate, Interval, Record, Table
from evade.evidence.stats.tables import interval_columns, render_tables

TABLE = Table(
    "Two methods",
    [
        Column("Method", "method"),
        Column("Score", "score", digits=2),
        Column("95 %", "interval", digits=1),
        Column("Mean", "estimate", digits=1),
        Column("W/L", "record"),
        Column("printed", "printed"),
    ],
    [
        ["a_b & 5 %", 1 / 3, Interval(0.25, 1.0), Estimate(2.0, 0.5), Record(3, 1, 0), "0.33"],
        ["x|y", float("nan"), None, Estimate(7.0, float("nan")), None, None],
    ],
    ["A note."],
)


def test_text_lines_up_numbers_to_the_right_and_words_to_the_left():
    assert TABLE.render("text").split("\n") == [
        "Two methods",
        "-------------------------------------------------------",
        "Method     Score        95 %       Mean    W/L  printed",
        "-------------------------------------------------------",
        "a_b & 5 %   0.33  [0.2, 1.0]  2.0 ± 0.5  3W,1L     0.33",
        "x|y            -           -        7.0      -        -",
        "-------------------------------------------------------",
        "A note.",
    ]


def test_text_wraps_long_cells_and_keeps_empty_rows():
    words = "one two three four five six seven eight nine ten"
    table = Table("T", [Column("A", "a"), Column("B", "b")], [[words, 1], ["", ""], ["z", 2]])
    body = table.render("text").split("\n")[4:-1]
    assert [line.split() for line in body] == [
        ["one", "two", "three", "four", "five", "six", "1"],
        ["seven", "eight", "nine", "ten"],
        [],
        ["z", "2"],
    ]


def test_markdown_escapes_what_would_break_it():
    lines = TABLE.render("markdown").split("\n")
    assert lines[2] == "| Method | Score | 95 % | Mean | W/L | printed |"
    assert lines[3] == "| :-- | --: | --: | --: | --: | --: |"
    assert lines[4] == r"| a\_b & 5 % | 0.33 | \[0.2, 1.0\] | 2.0 ± 0.5 | 3W,1L | 0.33 |"
    assert lines[5].startswith(r"| x\|y | - |")


def test_latex_escapes_what_would_break_it():
    text = TABLE.render("latex")
    assert r"a\_b \& 5 \% & 0.33 & [0.2, 1.0] & 2.0 $\pm$ 0.5 & 3W,1L & 0.33 \\" in text
    assert r"\begin{tabular}{lrrrrr}" in text
    assert r"\caption{Two methods. A note.}" in text
    assert (
        Table("", [Column("~^\\{}#$", "x")], [])
        .render("latex")
        .count(r"\textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$")
        == 1
    )


def test_csv_keeps_every_digit_and_gives_each_part_a_column():
    rows = list(csv.DictReader(TABLE.render("csv").splitlines()))
    assert float(rows[0]["score"]) == 1 / 3
    assert (rows[0]["interval_low"], rows[0]["interval_high"]) == ("0.25", "1.0")
    assert rows[0]["record_wins"] == "3"
    assert rows[1]["method"] == "x|y"
    assert rows[1]["score"] == rows[1]["interval_low"] == rows[1]["estimate_standard_error"] == ""


def test_json_is_strict_json():
    def refuse(constant):
        pytest.fail(f"{constant} is not JSON")

    plain = json.loads(TABLE.render("json"), parse_constant=refuse)
    assert plain["title"] == "Two methods"
    assert plain["rows"][0]["score"] == 1 / 3
    assert plain["rows"][0]["interval"] == {"low": 0.25, "high": 1.0}
    assert plain["rows"][1]["score"] is None
    assert plain["rows"][1]["estimate"] == {"mean": 7.0, "standard_error": None}
    assert plain["notes"] == ["A note."]


def test_a_table_without_rows_has_every_format():
    empty = Table("T", [Column("Method", "method")], [])
    assert empty.render("text").split("\n")[2] == "Method"
    assert empty.render("markdown").split("\n")[2:] == ["| Method |", "| --: |"]
    assert r"Method \\" in empty.render("latex")
    assert empty.render("csv") == "method"
    assert json.loads(empty.render("json")) == {"title": "T", "rows": [], "notes": []}


def test_a_column_by_name():
    assert TABLE.column("printed") == ["0.33", None]
    with pytest.raises(TableError, match="has no column 'missing': choose one of method, score"):
        TABLE.column("missing")


def test_rows_must_fit_and_names_must_differ():
    with pytest.raises(TableError, match="a row has 1 cells, must be 2"):
        Table("T", [Column("A", "a"), Column("B", "b")], [["x"]])
    with pytest.raises(TableError, match="column names must be unique"):
        Table("T", [Column("A", "a"), Column("B", "a")], [])


def test_an_unknown_format_is_an_error():
    with pytest.raises(TableError, match="Invalid table format 'html': choose one of text, markdown"):
        TABLE.render("html")


def test_several_tables_are_one_text_or_one_document():
    tables = {"first": TABLE, "second": TABLE}
    assert render_tables(tables, "text") == f"{TABLE.render('text')}\n\n{TABLE.render('text')}"
    assert list(json.loads(render_tables(tables, "json"))) == ["first", "second"]
    assert render_tables({"first": TABLE}, "csv") == TABLE.render("csv")
    with pytest.raises(TableError, match="csv holds one table, got 2: choose one, as in --table first"):
        render_tables(tables, "csv")


def test_values_and_their_intervals_stand_side_by_side():
    columns = interval_columns({"Mean": "mean", "IQM": "iqm"})
    assert [column.name for column in columns] == ["mean", "mean_interval", "iqm", "iqm_interval"]
    assert [column.heading for column in columns] == ["Mean", "95 %", "IQM", "95 %"]
