"""What is published: wheel and sdist, built and installed into a new environment."""

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from hatch_build import resolve_links
from trove_classifiers import classifiers

import evade

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))


def run(*words, **options):
    # Without the caller's paths: a new environment must find everything by itself.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, env=clean, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(source, folder, *targets):
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), *targets, cwd=source)
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A folder with the wheel and the sdist."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("METADATA"))
        return email.message_from_string(files.read(name).decode())


def test_the_wheel_works_in_a_new_environment(wheel, tmp_path):
    """Its dependencies are those of this environment, which installed them a moment ago by the same metadata."""
    venv.create(tmp_path / "new", with_pip=False, symlinks=True)
    python = tmp_path / "new" / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    inside = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # A path in a .pth file does not bring the .pth files there, such as this environment's editable evade.
    (inside / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(str(python), "-c", "import evade; print(evade.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(inside)
    package = Path(evade.__file__).parent
    sources = sorted(source.relative_to(package) for source in package.rglob("*.cpp"))
    assert sources
    for source in sources:
        assert (inside / "evade" / source).exists(), "it is compiled where it is used"
    assert run(str(inside.parents[2] / "bin" / "evade"), "--version", cwd=tmp_path) == f"evade {evade.__version__}\n"
    # Data files and templates are there.
    assert "Pong" in run(str(python), "-m", "evade", "paper", "--table", "runs", cwd=tmp_path)
    templates = "import evade.evidence.report.build as b; print(len(b.render_pages([], [])))"
    assert run(str(python), "-c", templates, cwd=tmp_path) == "1\n"


def test_the_sdist_builds_the_same_wheel_and_has_what_developers_need(dist, wheel, tmp_path):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as files:
        files.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    for name in ("Makefile", "constraints.txt", "LICENSE", "tests/conftest.py", "docs/index.md", "tools/site/hooks.py"):
        assert (source / name).exists(), name
    (again,) = build(source, tmp_path / "again", "-t", "wheel").glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_image_is_built_from_enough_files_for_the_same_wheel(wheel, tmp_path):
    text = (ROOT / "Dockerfile").read_text()
    source = tmp_path / "source"
    source.mkdir()
    for names, target in re.findall(r"^COPY (.+) (\S+)$", text, re.MULTILINE):
        for name in names.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / target)
    (again,) = build(source, tmp_path / "again", "-t", "wheel").glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()
    (extras,) = re.findall(r'"\.\[(.+)\]"', text)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    assert re.search(r"^FROM python:(3\.\d+)-", text, re.MULTILINE)[1] in PYTHONS


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert {name.partition("/")[0] for name in names} == {"evade", f"evade-{evade.__version__}.dist-info"}
    ours = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "evade").rglob("*") if path.is_file()}
    expected = {name for name in ours if "__pycache__" not in name}
    assert {name for name in names if name.startswith("evade/")} == expected


def test_no_link_of_the_shown_readme_is_relative(metadata):
    text = metadata.get_payload()
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "evade train minatar evade" in text
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith("https://")] == []


def test_links_become_absolute_where_the_files_are_on_the_web():
    text = "[a](docs/a.md) ![b](b.png) [c](https://c.org) [LICENSE](LICENSE)\n```\n[d](e)\n```\n"
    assert resolve_links(text, "https://host/evade/") == (
        "[a](https://host/evade/docs/a.md) ![b](https://host/evade/b.png) [c](https://c.org) "
        "[LICENSE](https://host/evade/LICENSE)\n```\n[d](e)\n```\n"
    )
    assert resolve_links(text, "") == "a (`docs/a.md`)  [c](https://c.org) LICENSE\n```\n[d](e)\n```\n"


def test_the_metadata_is_true(metadata):
    assert set(metadata.get_all("Classifier")) <= set(classifiers)
    assert metadata.get_all("Project-URL") == ["Paper, https://arxiv.org/abs/2501.09611"]
    lowest, highest = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    assert [f"3.{minor}" for minor in range(int(lowest), int(highest))] == PYTHONS


def test_one_version_everywhere():
    assert f"\n## {evade.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {evade.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_extras_package_has_a_tested_version():
    pinned = {
        line.partition("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()
    }
    wanted = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    assert {re.match(r"[\w-]+", each)[0].lower() for each in wanted} <= pinned


def test_the_workflow_runs_what_developers_run_on_every_python():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"run: make (\w+)", workflow)
    assert {"test", "docs", "package"} <= set(called) <= targets
    assert str(PYTHONS).replace("'", '"') in workflow
