"""The files of a report: numbers with a closed form, working links, escaped names, refused runs."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from evade.errors import ReportError, RunError
from evade.evidence.report import verify_report, write_report
from evade.evidence.report.verify import read_numbers
from evade.evidence.results import read_runs
from evade.runs.files import read_json, write_json
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
    # Three runs with the means 2, 4 and 6: their mean is 4 and every resample lies between 2 and 6.
    assert [shown[f"group-1/headline/{part}"] for part in ("mean", "low", "high")] == [4, 2, 6]
    assert (shown["run-1/score/mean"], shown["run-1/score/standard-error"]) == (2, 1)
    # The evaluations gave half: 1, 2 and 3, whose standard error is 1 / sqrt(3).
    evaluations = [shown[f"group-1/evaluate/64/{part}"] for part in ("mean", "standard-error")]
    assert evaluations == pytest.approx([2, 3**-0.5])
    # One run of the other variant, with the dreams 2 and 4: a mean, but nothing about how runs differ.
    dream = "group-2/faithfulness-dream-return/1"
    assert shown[f"{dream}/mean"] == 3
    assert f"{dream}/standard-error" not in shown
    assert "group-2/headline/low" not in shown
    assert shown["group-2/faithfulness-game-return/2/mean"] == 2
    assert shown["group-1/posterior-sigma/2/mean"] == pytest.approx(0.1)
    assert (shown["run-4/seconds/fit"], shown["run-4/seconds/total"]) == (3, 3)


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


def test_the_last_point_of_a_curve_is_the_final_score(report):
    shown = read_numbers((report / "index.html").read_text())
    assert float(shown["group-1/evaluate/192/mean"].value) == float(shown["group-1/headline/mean"].value) == 4


def test_the_dream_has_the_whole_width_of_the_page_because_it_is_three_pictures_wide(tmp_path, make_report_run):
    folder = make_report_run(tmp_path / "run")
    for name in ("game.mp4", "dream.mp4"):
        (folder.media / name).write_bytes(b"film")
    page = write_report(read_runs([tmp_path / "run"]), tmp_path / "report").read_text()
    assert re.findall(r'<figure class="(\w+)"><video', page) == ["dream", "game"]
    assert re.search(r"\.videos \.dream \{ grid-column: 1 / -1; max-width: none;", page)


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
    assert "1 run: fewer than 3 say nothing about how much runs differ" in page.read_text()
    assert "run-1/score/mean" in shown
    assert "run-2/score/mean" not in shown
    raw = read_numbers((page.parent / "episodes/group-1.html").read_text())
    assert "run-1/score/192/raw" in raw
    assert "run-2/score/192/raw" not in raw
    # What it evaluated during training is complete and is shown.
    assert raw["run-2/evaluate/64/raw"].text == "50"


@pytest.mark.parametrize(("num_runs", "basis"), [(1, "1 run: fewer than 3"), (2, "2 runs: fewer"), (3, "over 3 runs")])
def test_an_interval_is_over_three_runs_or_more(tmp_path, make_report_run, num_runs, basis):
    for seed in range(num_runs):
        make_report_run(tmp_path / "runs" / str(seed), seed=seed, scores=(1.0 + seed, 3.0 + seed))
    page = write_report(read_runs([tmp_path / "runs"]), tmp_path / "report").read_text()
    assert basis in page
    assert ("group-1/headline/low" in read_numbers(page)) == (num_runs == 3)
    legend = (tmp_path / "report" / "figures" / "curves-1.svg").read_text()
    assert f"EVaDE-SimPLe ({num_runs} run" in legend


def test_a_copy_of_a_run_is_refused_wherever_it_is_sorted(tmp_path, make_report_run):
    make_report_run(tmp_path / "runs" / "a", seed=0, fingerprint="same")
    make_report_run(tmp_path / "runs" / "b", seed=1)
    # Sorted by seed, run b is between the two.
    make_report_run(tmp_path / "runs" / "c", seed=2, fingerprint="same")
    with pytest.raises(RunError, match=r"runs/a and .*runs/c are the same run \(fingerprint same"):
        write_report(read_runs([tmp_path / "runs"]), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_runs_of_one_game_with_different_protocols_are_in_different_sections(tmp_path, make_report_run):
    make_report_run(tmp_path / "runs" / "a", evaluation={"temperature": 1.0})
    make_report_run(tmp_path / "runs" / "b", seed=1, evaluation={"temperature": 1.0})
    make_report_run(tmp_path / "runs" / "c", variant="simple", evaluation={"temperature": 0.5})
    runs = read_runs([tmp_path / "runs"])
    page = write_report(runs, tmp_path / "report").read_text()
    assert '<h3 class="game">minatar/breakout, protocol 2</h3>' in page
    assert "its scores mean something else: evaluation.temperature is 0.5, not 1.0." in page
    curves = [(tmp_path / "report" / "figures" / f"curves-{number}.svg").read_text() for number in (1, 2)]
    assert ["EVaDE-SimPLe (2 runs)" in curve for curve in curves] == [True, False]
    assert ["SimPLe(30) (1 run)" in curve for curve in curves] == [False, True]
    assert verify_report(runs, tmp_path / "report") > 20


def test_simple_on_its_published_model_is_called_simple_and_not_simple_30(tmp_path, make_report_run):
    folder = make_report_run(tmp_path / "runs" / "a", variant="simple")
    config = read_json(folder.config)
    model = {"world_model": {"kind": "stochastic-discrete", "reward": {"event_layers": []}}}
    write_json(folder.config, config | {"settings": config["settings"] | model})
    page = write_report(read_runs([tmp_path / "runs"]), tmp_path / "report").read_text()
    assert re.findall(r'<div class="who">(.*?)</div>', page) == ["SimPLe"]
    assert "SimPLe (1 run)" in (tmp_path / "report" / "figures" / "curves-1.svg").read_text()


def test_presets_and_settings_are_different_groups(tmp_path, make_report_run):
    for seed, (preset, clip) in enumerate([("quick", 0.1), ("quick", 0.2), ("minatar", 0.1)]):
        folder = make_report_run(tmp_path / "runs" / str(seed), seed=seed)
        config = read_json(folder.config)
        changes = {"preset": preset, "learner": {"clip": clip}}
        write_json(folder.config, config | {"settings": config["settings"] | changes})
    page = write_report(read_runs([tmp_path / "runs"]), tmp_path / "report").read_text()
    who = re.findall(r'<div class="who">(.*?)</div>', page)
    assert who == ["EVaDE-SimPLe (minatar)", "EVaDE-SimPLe (quick, clip=0.1)", "EVaDE-SimPLe (quick, clip=0.2)"]
    assert len(set(re.findall(r'class="card" style="--variant: (#\w+)"', page))) == 3


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
