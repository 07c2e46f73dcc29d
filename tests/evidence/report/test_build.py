"""The files of a report: numbers with a closed form, working links, escaped names, refused runs."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from evade.errors import ProtocolMismatch, ReportError, RunError
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
    # One run of the other variant: the band is over its own samples, here the dreams 2 and 4.
    dream = "group-2/faithfulness-dream-return/1"
    assert (shown[f"{dream}/mean"], shown[f"{dream}/standard-error"]) == (3, 1)
    assert shown["group-2/faithfulness-game-return/2/mean"] == 2
    assert shown["group-1/posterior-sigma/2/mean"] == 0.1
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


def test_videos_are_copied_and_figures_plotted(report):
    assert (report / "media/run-2-game & dream.mp4").read_bytes() == b"film"
    assert {path.name for path in (report / "figures").iterdir()} == {"curves-1.svg", "dreams-1.svg", "sigma-1.svg"}


def test_the_same_runs_give_the_same_bytes(runs_dir, report, tmp_path):
    again = write_report(read_runs([runs_dir]), tmp_path / "again").parent
    files = sorted(path.relative_to(report) for path in report.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    assert all((report / file).read_bytes() == (again / file).read_bytes() for file in files)


def test_a_run_without_scores_and_metrics_is_shown_as_such(tmp_path, make_report_run):
    folder = make_report_run(tmp_path / "run")
    for journal in (folder.scores, folder.metrics, folder.timing):
        journal.unlink()
    page = write_report(read_runs([tmp_path / "run"]), tmp_path / "report").read_text()
    assert "no finished run" in page
    assert "<img" not in page


@pytest.mark.parametrize("status", ["running", "stopped", "failed"])
def test_a_half_written_final_evaluation_is_no_score(tmp_path, make_report_run, status):
    make_report_run(tmp_path / "runs" / "done", scores=(1.0, 3.0))
    make_report_run(tmp_path / "runs" / "half", seed=1, scores=(100.0,), status=status)
    page = write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    shown = read_numbers(page.read_text())
    assert shown["group-1/headline/mean"].text == "2.00"
    assert "over 2 episodes of one run" in page.read_text()
    assert "run-1/score/mean" in shown
    assert "run-2/score/mean" not in shown
    raw = read_numbers((page.parent / "episodes/group-1.html").read_text())
    assert "run-1/score/192/raw" in raw
    assert "run-2/score/192/raw" not in raw
    # What it evaluated during training is complete and is shown.
    assert raw["run-2/evaluate/64/raw"].text == "50"


def test_a_single_episode_has_no_interval(tmp_path, make_report_run):
    make_report_run(tmp_path / "run", scores=(3.0,))
    page = write_report(read_runs([tmp_path / "run"]), tmp_path / "report").read_text()
    assert "one episode: no interval" in page


def test_a_copy_of_a_run_is_refused_wherever_it_is_sorted(tmp_path, make_report_run):
    make_report_run(tmp_path / "runs" / "a", seed=0, fingerprint="same")
    make_report_run(tmp_path / "runs" / "b", seed=1)
    # Sorted by seed, run b is between the two.
    make_report_run(tmp_path / "runs" / "c", seed=2, fingerprint="same")
    with pytest.raises(RunError, match=r"runs/a and .*runs/c are the same run \(fingerprint same"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_runs_of_one_game_with_different_protocols_are_refused_wherever_they_are_sorted(tmp_path, make_report_run):
    make_report_run(tmp_path / "runs" / "a", evaluation={"temperature": 1.0})
    make_report_run(tmp_path / "runs" / "b", seed=1, evaluation={"temperature": 1.0})
    make_report_run(tmp_path / "runs" / "c", variant="simple", evaluation={"temperature": 0.5})
    with pytest.raises(ProtocolMismatch, match=r"evaluation.temperature is 1.0 in .*runs/a and 0.5 in .*runs/c"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_other_games_may_have_other_protocols(tmp_path, make_report_run):
    make_report_run(tmp_path / "runs" / "a", evaluation={"temperature": 1.0})
    make_report_run(tmp_path / "runs" / "b", game="minatar/freeway", evaluation={"temperature": 0.5})
    make_report_run(tmp_path / "runs" / "c", seed=1, evaluation={"temperature": 1.0, "every": 5, "num_envs": 3})
    assert write_report(read_runs([tmp_path / "runs"]), tmp_path / "report").is_file()


def test_a_folder_that_cannot_hold_a_report_is_named(runs_dir, tmp_path):
    runs = read_runs([runs_dir])
    with pytest.raises(ReportError, match="seed-0 is a run: choose another folder"):
        write_report(runs, runs_dir / "evade" / "seed-0")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "data").write_text("in the way")
    with pytest.raises(ReportError, match="choose another folder"):
        write_report(runs, tmp_path / "report")


def test_a_smaller_report_removes_what_a_larger_one_left_and_nothing_else(tmp_path):
    for seed in range(3):
        make_finished_run(tmp_path / "runs" / f"seed-{seed}", seed=seed)
    folder = tmp_path / "report"
    write_report(read_runs([tmp_path / "runs"]), folder)
    assert len(list((folder / "data").iterdir())) == 3
    for part in ("", "data", "media"):
        (folder / part).mkdir(exist_ok=True)
        (folder / part / "mine.txt").touch()
    write_report(read_runs([tmp_path / "runs" / "seed-1"]), folder)
    assert sorted(path.name for path in (folder / "data").iterdir()) == ["mine.txt", "run-1.json"]
    assert (folder / "mine.txt").exists()
    assert (folder / "media" / "mine.txt").exists()


def test_a_dollar_in_a_name_is_a_dollar_in_the_figures(tmp_path):
    make_finished_run(tmp_path / "run", game=r"x$\undefined{$y", variant="$a$b$")
    write_report(read_runs([tmp_path / "run"]), tmp_path / "report")
    figures = list((tmp_path / "report" / "figures").glob("*.svg"))
    assert figures
    assert all(r"x$\undefined{$y" in figure.read_text() for figure in figures)
