"""A sample of each attack of `make chaos`; none may find anything."""

import random

import pytest

from chaos import corruption, folders, forgeries, lines
from chaos.runs import Victim
from chaos.tally import Tally


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    return Victim(tmp_path_factory.mktemp("chaos"))


def assert_nothing_found(tally, cases):
    assert sum(tally.cases.values()) == cases
    assert tally.num_findings == 0, "\n".join(tally.examples)


def test_no_damaged_file_is_accepted_in_silence(victim):
    tally = Tally()
    corruption.attack(victim, tally, cases=24, seed=1)
    assert_nothing_found(tally, 24)


def test_no_forged_document_tensor_or_chunk_ends_in_a_traceback_or_a_signal(victim):
    tally = Tally()
    forgeries.attack(victim, tally, cases=21, seed=1)
    assert_nothing_found(tally, 21)


def test_no_hostile_folder_leads_out_of_itself(victim):
    tally = Tally()
    quick = [(harm, verb) for harm, verb in folders.PAIRS if verb in ("compare", "evaluate", "runs", "index")]
    folders.attack(victim, tally, random.Random(2).sample(quick, 20))  # noqa: S311
    folders.attack(victim, tally, [(folders.link_folder("replay"), "resume"), (folders.bend_moments, "resume")])
    assert_nothing_found(tally, 22)


def test_no_command_line_ends_in_a_traceback(victim):
    tally = Tally()
    lines.attack(victim, tally, cases=60, seed=1)
    assert_nothing_found(tally, 60)
