"""The generated pages of the documentation: complete, from the code, and without a dead link among themselves."""

import importlib
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from notebook_page import run_notebook, to_page
from reference_pages import api_page, commands_page, module_pages, public_names, settings_page

import evade
from evade.cli.main import VERBS
from evade.config import flatten, to_document
from evade.config.presets import PRESETS, build_config
from evade.config.run import ScheduleConfig

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "event_layers.ipynb"


def test_every_command_is_on_its_page_with_its_help():
    page = commands_page()
    assert re.findall(r"^## evade (\w+)$", page, re.MULTILINE) == list(VERBS)
    assert "--baseline" in page
    assert "usage: evade resume RUN" in page
    assert "\x1b" not in page


def test_every_setting_is_on_its_page_with_its_meaning():
    page = settings_page()
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `.+?` \| .*? \| (.*) \|$", page, re.MULTILINE))
    names = {name for name in flatten(to_document(build_config("atari100k"))) if not name.endswith("kind")} - {"schema"}
    assert names <= rows.keys()
    assert [name for name in names if len(rows[name]) < 10] == []
    for field in fields(ScheduleConfig):
        assert f"`schedule.{field.name}`" in page
    assert f"| setting | {' | '.join(PRESETS)} |" in page
    assert re.search(r"\| `evaluation.time_limit` \| 60 \|", page)


def test_every_public_module_has_a_page_of_names_that_exist():
    pages = module_pages()
    links = re.findall(r"\]\((api/[\w.]+\.md)\)", api_page())
    assert [f"reference/{link}" for link in links] == list(pages)
    assert len(pages) == len(evade.PUBLIC_MODULES) > 10
    for name in evade.PUBLIC_MODULES:
        names = public_names(name)
        assert names, name
        module = importlib.import_module(name)
        for member in names:
            assert hasattr(module, member), f"{name}.{member}"
    assert {"load", "PUBLIC_MODULES"} == set(public_names("evade"))
    assert "WorldModel" in public_names("evade.interfaces")


@pytest.fixture(scope="module")
def cells():
    return run_notebook(NOTEBOOK)


def test_the_notebook_runs_and_shows_draws_that_differ(cells):
    printed = "".join(cell.printed for cell in cells)
    spread = float(re.search(r"spread of draws (\d\.\d+)", printed)[1])
    assert spread > 0.03
    assert float(re.search(r"error of the mean (\d\.\d+)", printed)[1]) < 0.35
    assert sum(len(cell.figures) for cell in cells) == 1


def test_the_notebook_becomes_a_page_with_its_figure(cells):
    page, pictures = to_page(cells, "event_layers")
    (file,) = pictures
    assert f"]({file})" in page
    assert pictures[file].startswith(b"\x89PNG")
    assert page.startswith("# Event layers in your own network\n")


def test_the_notebook_is_stored_in_jupyters_format_without_outputs():
    document = json.loads(NOTEBOOK.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    assert not any(cell.get("outputs") for cell in document["cells"])


def test_a_failing_cell_ends_the_run(tmp_path):
    document = json.loads(NOTEBOOK.read_text())
    document["cells"][2]["source"] = ["raise RuntimeError('on purpose')"]
    (tmp_path / "broken.ipynb").write_text(json.dumps(document))
    with pytest.raises(RuntimeError, match="on purpose"):
        run_notebook(tmp_path / "broken.ipynb")
