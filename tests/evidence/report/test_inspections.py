"""The chapter inside the reward model: plotted from a run's own numbers, and verified from them."""

import json

import pytest

from evade.errors import ReportError, UnreadableFile
from evade.evidence.report import verify_report, write_report
from evade.evidence.report.groups import arrange
from evade.evidence.report.inspections import list_exhibits
from evade.evidence.results import read_runs
from evade.evidence.results.inspection import write_inspection
from inspections import make_inspection


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory, make_report_run):
    """Two runs of one variant with inspections, and one of another variant without."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        run = make_report_run(folder / "evade" / f"seed-{seed}", seed=seed)
        write_inspection(run.inspection, make_inspection())
    make_report_run(folder / "simple", variant="simple")
    return folder


@pytest.fixture(scope="module")
def report(runs_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(read_runs([runs_dir]), folder)
    return folder


def test_the_first_run_of_each_group_is_shown(report):
    page = (report / "index.html").read_text()
    chapter = page.split('<section id="inside">')[1].split("</section>")[0]
    names = [f"figures/run-1-{name}.svg" for name in ("maps", "draws", "sigma", "sigma-prior")]
    assert [line.split('src="')[1].split('"')[0] for line in chapter.splitlines() if "<img" in line] == names
    assert all((report / name).exists() for name in names)
    assert '<a href="#inside">' in page
    maps = (report / names[0]).read_text()
    assert "channel 3" in maps
    assert "chosen" not in maps, "only the channels that change most"


def test_a_changed_number_of_the_run_is_found(runs_dir, report):
    runs = read_runs([runs_dir])
    (path,) = [run.folder.inspection for run in runs if run.variant == "evade" and run.seed == 0]
    document = json.loads(path.read_text())
    document["draws"][0][0] += 0.5
    path.write_text(json.dumps(document))
    with pytest.raises(ReportError, match=r"\(1 difference\): figures/run-1-draws\.svg is another figure"):
        verify_report(runs, report)
    path.write_text("{}")
    with pytest.raises(UnreadableFile, match="is not an inspection"):
        list(list_exhibits(arrange(runs)))


def test_without_event_layers_there_is_no_chapter(written):
    assert "Inside the reward model" not in (written / "report" / "index.html").read_text()
