"""Each vocabulary is one list, and the rest of the package agrees with it."""

import re
from pathlib import Path

import pytest

from evade.evidence.published.paper import METHODS
from evade.training import phases as verbs
from evade.vocabulary.metrics import METRICS, describe
from evade.vocabulary.phases import ITERATION, ITERATION_NAMES, PHASES, done_share
from evade.vocabulary.variants import VARIANTS

SOURCE = Path(__file__).parents[2] / "src" / "evade"


def test_every_phase_has_a_verb_and_every_verb_a_phase():
    decorated = re.findall(r'@phase\("(\w+)"\)', Path(verbs.__file__).read_text())
    assert tuple(decorated) == ITERATION_NAMES
    assert list(PHASES) == [*ITERATION_NAMES, "score"]


def test_the_time_shares_of_an_iteration_add_up():
    assert sum(phase.time_share for phase in ITERATION) == pytest.approx(1)
    assert done_share("collect", 0) == 0
    assert done_share("improve", 0.5) == pytest.approx(0.05 + 0.4 + 0.25)
    assert done_share("evaluate", 1) == pytest.approx(1)


def test_metric_names_are_a_group_and_a_noun():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert re.fullmatch(r"(collect|fit|posterior|dream|faithfulness|evaluate|score)/[a-z_]+", name)
        assert metric.label
        assert metric.meaning


def test_a_metric_that_is_not_listed_is_called_as_it_is_written():
    assert describe("fit/table_rows").label == "table rows"
    assert describe("fit/loss").unit == "nats"


def test_the_papers_methods_exist():
    assert {variant.paper_method for variant in VARIANTS.values()} - {None} <= METHODS.keys()


def test_labels_tell_variants_apart():
    assert len({variant.label for variant in VARIANTS.values()}) == len(VARIANTS)
    assert len({variant.colour for variant in VARIANTS.values()}) == len(VARIANTS)


def test_no_other_file_lists_the_variants():
    """A second list would have to be kept in step with the first."""
    for file in SOURCE.rglob("*.py"):
        if file.name != "variants.py":
            text = file.read_text()
            assert not ('"interaction"' in text and '"simple"' in text and '"evade"' in text), file
