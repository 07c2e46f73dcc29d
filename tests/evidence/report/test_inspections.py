"""The chapter inside the reward model: plotted from a run's own numbers, and verified from them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from chaos.runs import reseal_document
from evade.cli.main import main
from evade.errors import ReportError, UnreadableFile
from evade.evidence.report import verify_report, write_report
from evade.evidence.report.groups import arrange
from evade.evidence.report.inspections import list_exhibits
from evade.evidence.results import read_runs
from evade.evidence.results.inspection import SigmaImage, read_inspection, write_inspection
from evade.runs.files import LARGEST_DOCUMENT
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
    reseal_document(path, document)
    with pytest.raises(ReportError, match=r"\(1 difference\): figures/run-1-draws\.svg is another figure"):
        verify_report(runs, report)
    path.write_text("{}")
    with pytest.raises(UnreadableFile, match="is not an inspection"):
        list(list_exhibits(arrange(runs)))


def test_a_damaged_inspection_is_named_and_left_out_and_the_report_is_written(tmp_path, make_report_run, capsys):
    whole, damaged = (make_report_run(tmp_path / "runs" / f"seed-{seed}", seed=seed) for seed in (1, 0))
    write_inspection(whole.inspection, make_inspection())
    damaged.inspection.write_text("{}")
    for run in (whole, damaged):
        (run.media / "game.mp4").write_bytes(b"film")
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "report")]) == 0
    said = capsys.readouterr().err
    assert f"{damaged.inspection} is not an inspection" in said
    assert "Its figures are left out of the report." in said
    assert said.count("\n") == 1
    figures = [path.name for path in (tmp_path / "report" / "figures").glob("*-draws.svg")]
    assert figures == ["run-2-draws.svg"], "the figures of the next run"
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "report"), "--verify"]) == 2
    assert "is not an inspection" in capsys.readouterr().err


def test_a_number_that_was_changed_after_writing_is_refused_and_an_earlier_version_is_read(tmp_path):
    path = tmp_path / "inspection.json"
    write_inspection(path, make_inspection())
    document = json.loads(path.read_text())
    document["draws"][0][0] += 0.5
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableFile, match="changed after it was written: its checksum differs"):
        read_inspection(path)
    del document["sha256"]
    path.write_text(json.dumps(document))
    assert read_inspection(path).draws[0, 0] == np.float32(document["draws"][0][0])


def test_an_inspection_of_a_large_network_is_read(tmp_path):
    """At the size of the paper's networks the file is larger than other documents may be."""
    sigmas = SigmaImage(
        "interaction, up stage 1", "output", "input", (), (1, 1), np.full((400, 400), 1 / 3, np.float32)
    )
    large = replace(make_inspection(), sigmas=(sigmas,))
    write_inspection(tmp_path / "inspection.json", large)
    assert (tmp_path / "inspection.json").stat().st_size > LARGEST_DOCUMENT
    assert np.array_equal(read_inspection(tmp_path / "inspection.json").sigmas[0].values, sigmas.values)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (["title"], 5, "title = 5 instead of a str"),
        (["frame"], "x", "frame = 'x' instead of a int"),
        (["action"], None, "action = None instead of a int"),
        (["mean", 0], 10**400, "too large"),
        (["mean", 0], 1e30, "beyond 1e\\+15"),
        (["picture", 0, 0, 0], 256, "a picture of values from 10 to 256 instead of 0 to 255"),
        (["changes", 0, "is_largest"], "yes", "is_largest = 'yes' instead of a bool"),
        (["sigmas", 0, "title"], [], r"title = \[\] instead of a str"),
        (["sigmas"], "long", "more than 128 maps or images of sigmas"),
    ],
)
def test_an_inspection_with_a_wrong_value_is_refused(tmp_path, place, value, said):
    path = tmp_path / "inspection.json"
    write_inspection(path, make_inspection())
    document = json.loads(path.read_text())
    holder = document
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = document["sigmas"][:1] * 129 if value == "long" else value
    reseal_document(path, document)
    with pytest.raises(UnreadableFile, match=f"is not an inspection .*{said}"):
        read_inspection(path)


def test_without_event_layers_there_is_no_chapter(written):
    assert "Inside the reward model" not in (written / "report" / "index.html").read_text()
