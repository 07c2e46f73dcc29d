"""What stands in the files of a report: closed-form numbers, links that lead somewhere, names that stay names."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from evade.errors import ReportError
from evade.evidence.report import write_report
from evade.evidence.report.verify import read_numbers
from evade.evidence.results import read_runs
from run_folders import make_finished_run


class Links(HTMLParser):
    """All addresses and all anchors of a page."""

    def __init__(self, page):
        super().__init__()
        self.addresses, self.anchors = [], set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src"):
                self.addresses.append(value)
            elif name == "id":
                assert value not in self.anchors
                self.anchors.add(value)


def test_the_numbers_have_their_closed_form(report):
    shown = {key: float(number.value) for key, number in read_numbers((report / "index.html").read_text()).items()}
    # Two runs with the means 2 and 6: their mean is 4 and every resample lies on 2, 4 or 6.
    assert [shown[f"group-1/headline/{part}"] for part in ("mean", "low", "high")] == [4, 2, 6]
    assert (shown["run-1/score/mean"], shown["run-1/score/standard-error"]) == (2, 1)
    assert (shown["group-1/evaluate/64/mean"], shown["group-1/evaluate/64/standard-error"]) == (2, 1)
    # One run of the other variant: the band is over its own numbers, here the dreams 2 and 4.
    assert (shown["group-2/dream/1/mean"], shown["group-2/dream/1/standard-error"]) == (3, 1)
    assert shown["group-2/real/2/mean"] == 2
    assert shown["group-1/sigma/2/mean"] == 0.1
    assert (shown["run-3/seconds/fit"], shown["run-3/seconds/total"]) == (3, 3)


def test_every_address_is_inside_the_folder_and_every_anchor_is_there(report):
    pages = {page.resolve(): Links(page) for page in report.rglob("*.html")}
    assert len(pages) == 3
    for page, links in pages.items():
        for address in links.addresses:
            if address == "data:,":
                continue
            path, _, anchor = address.partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            assert target.is_relative_to(report.resolve())
            assert target.is_file(), address
            assert not anchor or anchor in pages[target].anchors, address


def test_every_number_of_the_front_page_leads_to_its_raw_numbers(report):
    for key, number in read_numbers((report / "index.html").read_text()).items():
        page, _, anchor = number.source.partition("#")
        if "/seconds/" in key:
            assert page.startswith("data/run-")
            continue
        place = (report / page).read_text()
        assert f'id="{anchor}"' in place, key
        assert "raw" in place
    raw = read_numbers((report / "episodes/group-1.html").read_text())
    assert raw["run-2/score/192/raw"].text == "5 7"
    data = json.loads((report / "data/run-2.json").read_text())
    assert [row["score"] for row in data["episodes"] if row["purpose"] == "score"] == [5, 7]


def test_markup_in_a_runs_name_stays_a_name(report):
    for page in report.rglob("*.html"):
        assert "<script" not in page.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in (report / "index.html").read_text()


def test_the_page_forbids_itself_everything_remote(report):
    for page in report.rglob("*.html"):
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page.read_text())
        assert policy.startswith("default-src 'none';")
        assert "http" not in policy


def test_videos_are_copied_and_figures_drawn(report):
    assert (report / "media/run-2-game & dream.mp4").read_bytes() == b"film"
    assert {path.name for path in (report / "figures").iterdir()} == {"curves-1.svg", "dreams-1.svg", "sigma-1.svg"}


def test_the_same_runs_give_the_same_bytes(runs_dir, report, tmp_path):
    again = write_report(read_runs([runs_dir]), tmp_path / "again").parent
    files = sorted(path.relative_to(report) for path in report.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((report / file).read_bytes() == (again / file).read_bytes() for file in files)


def test_a_run_without_scores_and_metrics_is_shown_as_such(tmp_path):
    folder = make_finished_run(tmp_path / "run")
    for journal in (folder.scores, folder.metrics, folder.timing):
        journal.unlink()
    page = write_report(read_runs([tmp_path / "run"]), tmp_path / "report").read_text()
    assert "no run is finished" in page
    assert "<img" not in page


def test_a_single_episode_has_no_interval(tmp_path):
    make_finished_run(tmp_path / "run", scores=(3.0,))
    page = write_report(read_runs([tmp_path / "run"]), tmp_path / "report").read_text()
    assert "one episode: no interval" in page


def test_runs_that_are_not_comparable_are_refused(tmp_path):
    make_finished_run(tmp_path / "runs" / "a")
    make_finished_run(tmp_path / "runs" / "b")
    with pytest.raises(ReportError, match="a and b have the same settings and seed"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    make_finished_run(tmp_path / "runs" / "b", seed=1, evaluation={"temperature": 0.5})
    with pytest.raises(ReportError, match=r"a and b were evaluated by different protocols \(evaluation differ"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_a_folder_that_cannot_hold_a_report_is_named(runs_dir, tmp_path):
    runs = read_runs([runs_dir])
    with pytest.raises(ReportError, match="seed-0 is a run: choose another folder"):
        write_report(runs, runs_dir / "evade" / "seed-0")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "data").write_text("in the way")
    with pytest.raises(ReportError, match="choose another folder"):
        write_report(runs, tmp_path / "report")
