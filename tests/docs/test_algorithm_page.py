"""docs/algorithm.md agrees with the code that it describes."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

from evade.config.presets import build_config
from evade.training import algorithm
from evade.vocabulary.metrics import METRICS
from evade.vocabulary.phases import ITERATION_NAMES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "algorithm.md").read_text()


def setting_names(settings, place=""):
    """All settings as `section.field`, sections included."""
    names = set()
    for field in fields(settings):
        names.add(f"{place}{field.name}")
        value = getattr(settings, field.name)
        if is_dataclass(value):
            names |= setting_names(value, f"{place}{field.name}.")
    return names


def table_rows(heading):
    """The cells of the table's rows below a heading, without the two lines of its head."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_table_of_metrics_is_the_vocabulary():
    expected = [[f"`{name}`", metric.unit, metric.meaning, metric.healthy] for name, metric in METRICS.items()]
    assert table_rows("Every metric") == expected


def test_the_loop_on_the_page_is_the_loop_of_the_code():
    loop = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    source = Path(algorithm.__file__).read_text()
    body = source[source.index("    state = run.") : source.index("    return state")]
    assert [line.removeprefix("    ") for line in body.splitlines()] == loop.splitlines()


def test_the_lines_of_algorithm_1_are_all_there_in_order():
    rows = table_rows("The paper's lines and ours")
    assert [row[0] for row in rows if row[0]] == [str(number) for number in range(1, 24)]
    verbs = [verb for row in rows for verb in re.findall(r"\*\*`(\w+)`\*\*", row[2])]
    assert len(verbs) == len(ITERATION_NAMES) + 1
    assert all(callable(getattr(algorithm, verb)) for verb in verbs)


def test_every_file_and_function_on_the_page_exists():
    for row in table_rows("The paper's lines and ours"):
        files = re.findall(r"`([\w/]+\.py)`", row[3])
        source = "".join((ROOT / "src" / "evade" / file).read_text() for file in files)
        for name in re.findall(r"`([\w.]+)`", row[2]):
            if not name.startswith("dream."):  # settings
                assert re.search(rf"\b(def|class) {name.rpartition('.')[2]}\b", source), (row[2], row[3])


def test_every_setting_on_the_page_exists():
    names = setting_names(build_config("atari100k", "evade"))
    for row in table_rows("The paper's lines and ours"):
        for name in re.findall(r"`([\w.*]+)`", row[4]):
            assert name.removesuffix(".*") in names, name
