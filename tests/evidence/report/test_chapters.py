"""Chapters are entries of a list: each prints its own text, and metrics are shown by the vocabulary."""

from dataclasses import replace

import pytest

from evade.evidence.report import verify_report, write_report
from evade.evidence.report.chapters import BAND, CHAPTERS, Chapter
from evade.evidence.report.measures import measure_metric
from evade.evidence.report.verify import read_numbers
from evade.evidence.results import read_runs
from evade.vocabulary.metrics import METRICS


@pytest.fixture
def run(tmp_path, make_report_run):
    make_report_run(tmp_path / "run")
    return read_runs([tmp_path / "run"])


def sections(page):
    """The HTML of each section by its id."""
    parts = page.split('<section id="')[1:]
    return {part.partition('"')[0]: part for part in parts}


def test_every_chapter_prints_its_own_text_and_no_other(run, tmp_path):
    page = sections(write_report(run, tmp_path / "report").read_text().replace("&#39;", "'"))
    for chapter in CHAPTERS:
        printed = [other.key for other in CHAPTERS if other.text in page[chapter.key]]
        assert printed == [chapter.key]


def test_dream_and_game_are_said_to_be_comparable(run, tmp_path):
    text = sections(write_report(run, tmp_path / "report").read_text())["dreams"]
    assert "clipped reward that the policy collects within the dream&#39;s horizon from the same start states" in text
    assert "directly comparable" in text
    assert "whole game" not in text
    assert ">EVaDE-SimPLe, dream<" in text
    assert ">EVaDE-SimPLe, game<" in text


def test_a_new_entry_is_a_new_chapter_with_its_own_text(run, tmp_path, monkeypatch):
    entry = Chapter("returns", "Dreamt returns", "points", "What dreams pay.", (measure_metric("dream/return"),))
    monkeypatch.setattr("evade.evidence.report.chapters.CHAPTERS", (*CHAPTERS, entry))
    front = write_report(run, tmp_path / "report")
    page = sections(front.read_text())
    assert list(page)[:5] == ["headline", "curves", "dreams", "sigma", "returns"]
    assert '<p class="note">What dreams pay.</p>' in page["returns"]
    assert "sigma" not in page["returns"]
    assert read_numbers(front.read_text())["group-1/dream-return/1/mean"].value == "2.0"
    assert (front.parent / "figures/returns-1.svg").is_file()


def test_a_metric_that_is_shown_in_reports_gets_a_chapter(run, tmp_path, monkeypatch):
    changes = {"label": "reward accuracy", "unit": "%", "meaning": "correct rewards", "healthy": "above 99 %"}
    metric = replace(METRICS["fit/reward_accuracy"], **changes, shown=("report",))
    monkeypatch.setitem(METRICS, metric.name, metric)
    front = write_report(run, tmp_path / "report")
    text = sections(front.read_text())["fit-reward-accuracy"]
    assert "<h2>Reward accuracy</h2>" in text
    assert "reward accuracy (%)" in text
    assert f"Correct rewards. Mean over runs, with a band of one standard error. {BAND} Healthy: above 99 %." in text
    # A share is shown as a percentage: 0.25 and 0.5 were logged.
    shown = read_numbers(front.read_text())
    assert [shown[f"group-1/fit-reward-accuracy/{i}/mean"].text for i in (1, 2)] == ["25.00", "50.00"]
    assert 'id="fit-reward-accuracy-1"' in (front.parent / "episodes/group-1.html").read_text()
    assert verify_report(run, front.parent) > 20


def test_every_metric_for_reports_is_in_a_chapter(run, tmp_path):
    shown = read_numbers(write_report(run, tmp_path / "report").read_text())
    for name in ("faithfulness/dream_return", "faithfulness/game_return", "posterior/sigma"):
        assert "report" in METRICS[name].shown
        assert f"group-1/{name.replace('/', '-').replace('_', '-')}/1/mean" in shown
    assert not [key for key in shown if "reward-accuracy" in key]
