import json
from contextlib import redirect_stdout
from io import StringIO

import pytest

from evade.cli.main import MISTAKE, main

FIELDS = {
    "": {"format", "date", "seconds", "options", "machine", "load", "products", "peaks", "measurements", "memory"},
    "load": {"at_start", "at_end", "others", "is_disturbed"},
    "products": {"precision", "threads", "rows", "flops", "seconds"},
    "peaks": {"precision", "threads", "flops_per_second"},
    "case": {"size", "task", "variant", "batch", "frame", "contender", "threads", "processes"},
    "summary": {"median", "minimum", "lower_quartile", "upper_quartile", "maximum", "repeats"},
    "measurement": {
        *("unit", "first_seconds", "flops", "flops_per_second"),
        *("peak_share", "speedup_over_plain", "cost_over_simple"),
    },
    "memory": {"before_bytes", "peak_bytes"},
}


@pytest.mark.slow_first
def test_a_quick_benchmark(tmp_path, subtests):
    """One test with parts, because the benchmark takes more than a minute and test processes share nothing."""
    path = tmp_path / "speed.json"
    with redirect_stdout(StringIO()) as printed:
        assert main(["benchmark", "--quick", "--size", "minatar", "--json", str(path)]) == 0
    document, text = json.loads(path.read_text()), printed.getvalue()
    for check in (
        has_the_documented_fields,
        has_consistent_numbers,
        measured_two_processes_and_one,
        measured_memory_in_a_separate_process,
    ):
        with subtests.test(check.__name__):
            check(document)
    with subtests.test("tables"):
        shows_every_step_and_names_the_documentation(text)


def rows(document, **wanted):
    return [row for row in document["measurements"] if all(row[name] == value for name, value in wanted.items())]


def has_the_documented_fields(document):
    assert document.keys() == FIELDS[""]
    assert document["format"] == 1
    assert document["load"].keys() == FIELDS["load"]
    assert {"torch", "device", "threads", "bf16", "cores", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} <= document[
        "machine"
    ].keys()
    for product in document["products"]:
        assert product.keys() == FIELDS["products"]
        assert product["seconds"].keys() == FIELDS["summary"]
    assert all(peak.keys() == FIELDS["peaks"] for peak in document["peaks"])
    for row in document["measurements"]:
        assert row.keys() == FIELDS["case"] | FIELDS["summary"] | FIELDS["measurement"]
        assert row["contender"].keys() == {"name", "precision", "is_compiled", "is_plain", "is_preset"}
    assert document["memory"]
    assert all(row.keys() == FIELDS["case"] | FIELDS["memory"] for row in document["memory"])


def has_consistent_numbers(document):
    peaks = {(peak["precision"], peak["threads"]): peak["flops_per_second"] for peak in document["peaks"]}
    for row in document["measurements"]:
        per_second = 1 / row["median"] if row["unit"] == "seconds per step" else row["median"]
        assert row["flops_per_second"] == pytest.approx(row["flops"] * per_second)
        ceiling = peaks[row["contender"]["precision"], row["threads"]] * row["processes"]
        assert row["peak_share"] == pytest.approx(row["flops_per_second"] / ceiling)
        assert row["repeats"] == document["options"]["rounds"] == 1
    (plain,) = [row for row in rows(document, task="fit") if row["contender"]["is_plain"]]
    assert plain["speedup_over_plain"] == 1
    for row in rows(document, task="fit"):
        assert row["speedup_over_plain"] == pytest.approx(plain["median"] / row["median"])
    for row in rows(document, task="dream", batch=256, variant="evade"):
        if row["contender"]["name"] == "float32":
            (simple,) = rows(document, task="dream", variant="simple", contender=row["contender"])
            assert row["cost_over_simple"] == pytest.approx(row["median"] / simple["median"] - 1)
            assert row["flops"] > simple["flops"]


def measured_two_processes_and_one(document):
    assert {row["processes"] for row in rows(document, task="loop", unit="dream steps per second")} == {1, 2}


def measured_memory_in_a_separate_process(document):
    for row in document["memory"]:
        assert 50 * 2**20 < row["before_bytes"] < row["peak_bytes"] < 4 * 2**30


def shows_every_step_and_names_the_documentation(printed):
    for word in ("matrix products", "fit step", "dream step", "PPO, 20 updates", "dreams and PPO", "load average"):
        assert word in printed
    assert "speed.json; docs/reference/benchmark.md explains the columns." in printed
    assert "…" not in printed, "no column is cut off"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeats", "0"], "Invalid repeats = 0: must be at least 1."),
        (["--threads", "-2"], "Invalid threads = -2: must be 0 to "),
        (
            ["--json", "/nowhere/at/all.json"],
            "Invalid json = '/nowhere/at/all.json': must be a file in an existing folder.",
        ),
        (["--json", "/"], "Invalid json = '/': must be a file in an existing folder."),
        (["--precision", "atari/pnog"], "Unknown game 'atari/pnog': did you mean atari/pong"),
        (
            ["--precision", "atari/pong", "--size", "paper"],
            "Invalid size = 'paper': must not be set together with --precision.",
        ),
        (["--precision", "atari/pong", "--repeats", "3"], "Invalid repeats = 3: must not be set together with"),
        (["--precision", "atari/pong", "--threads", "-1"], "Invalid threads = -1: must be 0 to "),
    ],
)
def test_a_users_mistake_is_reported_before_anything_is_measured(words, message, capsys):
    assert main(["benchmark", *words]) == MISTAKE
    error = capsys.readouterr().err
    assert error.startswith("evade: ")
    assert message in error
    assert error.count("\n") == 1


def test_precisions_are_compared_in_a_table_and_a_document(tmp_path, capsys):
    path = tmp_path / "precision.json"
    assert main(["benchmark", "--precision", "MinAtar/Breakout-v1", "--quick", "--json", str(path)]) == 0
    document = json.loads(path.read_text())
    assert document["options"] == {"game": "minatar/breakout", "steps": 50, "updates": 5, "frames": 20}
    assert [result["fitted_in"] for result in document["results"]] == ["float32", "bfloat16"]
    for result in document["results"]:
        assert result.keys() == {"fitted_in", "loss", "rounding", "error"}
        for gap in (result["rounding"], result["error"]):
            assert gap.keys() == {"pixels", "frames", "largest_step", "rewards", "ends"}
    printed = capsys.readouterr().out
    first = document["results"][0]
    assert "minatar/breakout: share of predictions that differ, 20 frames after 5 updates" in printed
    lines = [line.split() for line in printed.splitlines() if line.startswith(("float32", "bfloat16"))]
    assert [line[0] for line in lines] == ["float32", "float32", "bfloat16", "bfloat16"]
    assert lines[0][-5:-2] == [
        f"{first['loss']:.4f}",
        f"{first['rounding']['pixels']:.4%}",
        f"{first['rounding']['frames']:.1%}",
    ]
    assert lines[1][-4] == f"{first['error']['pixels']:.4%}"
    assert "precision.json; docs/reference/benchmark.md explains the columns." in printed
