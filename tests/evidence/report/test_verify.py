"""A report that matches its runs passes; one changed digit, raw score, link or file is an error."""

import pytest

from evade.errors import ReportError
from evade.evidence.report import verify_report
from evade.evidence.results import read_runs


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_report_that_matches_its_runs_passes(runs_dir, report):
    assert verify_report(read_runs([runs_dir]), report) > 50


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "index.html",
            ">4.00<",
            ">4.01<",
            r"shows 4.01 \(4.0\) for group-1/headline/mean, the runs give 4.00",
        ),
        ("index.html", 'data-value="6.0"', 'data-value="6.1"', "the runs give 6.00"),
        ("index.html", "#score-192-run-1", "#score-192-run-2", "for run-1/score/mean"),
        ("index.html", 'data-key="run-1/score/mean"', "", "shows nothing for run-1/score/mean"),
        ("episodes/group-1.html", ">5 7<", ">5 8<", "shows 5 8 for run-2/score/192/raw"),
        ("index.html", "over 3 runs", "over 9 runs", "index.html has other text, counts or settings"),
        ("figures/curves-1.svg", "<path", "<path ", "figures/curves-1.svg is another figure"),
        ("data/run-1.json", '"score": 3.0', '"score": 4.0', "data/run-1.json has other episodes"),
    ],
)
def test_one_changed_number_is_found(runs_dir, report, file, old, new, message):
    change(report / file, old, new)
    with pytest.raises(ReportError, match=message) as caught:
        verify_report(read_runs([runs_dir]), report)
    assert "(1 difference)" in str(caught.value)


def test_a_changed_run_is_found(runs_dir, report):
    change(runs_dir / "evade" / "seed-0" / "timing.jsonl", "1.5", "2.5")
    with pytest.raises(ReportError, match=r"shows 3.00 \(3.0\) for run-1/seconds/fit, the runs give 4.00 \(4.0\)"):
        verify_report(read_runs([runs_dir]), report)


def test_a_missing_page_is_named(runs_dir, report):
    (report / "episodes" / "group-1.html").unlink()
    with pytest.raises(ReportError, match="group-1.html is missing"):
        verify_report(read_runs([runs_dir]), report)
