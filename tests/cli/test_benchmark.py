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


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """One quick benchmark through the command line: what it wrote and what it printed."""
    path = tmp_path_factory.mktemp("benchmark") / "speed.json"
    with redirect_stdout(StringIO()) as printed:
        assert main(["benchmark", "--quick", "--size", "minatar", "--json", str(path)]) == 0
    return json.loads(path.read_text()), printed.getvalue()


def rows(document, **wanted):
    return [row for row in document["measurements"] if all(row[name] == value for name, value in wanted.items())]


def test_the_document_has_the_documented_fields(told):
    document = told[0]
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


def test_the_numbers_follow_from_one_another(told):
    document = told[0]
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


def test_two_processes_and_one_were_measured(told):
    assert {row["processes"] for row in rows(told[0], task="loop", unit="dream steps per second")} == {1, 2}


def test_memory_is_a_process_own(told):
    for row in told[0]["memory"]:
        assert 50 * 2**20 < row["before_bytes"] < row["peak_bytes"] < 4 * 2**30


def test_a_person_sees_every_step_and_where_to_look(told):
    printed = told[1]
    for word in ("matrix products", "fit step", "dream step", "PPO, 10 updates", "dreams and PPO", "load average"):
        assert word in printed
    assert "speed.json; docs/reference/benchmark.md says what the columns mean." in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeats", "0"], "repeats = 0 is not possible: it must be at least 1."),
        (["--threads", "-2"], "threads = -2 is not possible: it must not be negative."),
        (["--json", "/nowhere/at/all.json"], "name a file in a folder that exists."),
        (["--json", "/"], "name a file in a folder that exists."),
    ],
)
def test_a_users_mistake_is_told_before_anything_is_measured(words, message, capsys):
    assert main(["benchmark", *words]) == MISTAKE
    told = capsys.readouterr().err
    assert told.startswith("evade: ")
    assert message in told
    assert told.count("\n") == 1
