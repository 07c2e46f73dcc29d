"""The house as a stranger meets it: what can be imported, what that costs, what the README shows."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import evade
import evade.layers

ROOT = Path(__file__).parent.parent


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_the_version_is_the_installed_ones():
    assert evade.__version__ == version("evade")


def test_the_public_names_of_the_layers():
    assert set(evade.layers.__all__) == {
        "Draw",
        "Init",
        "LayerError",
        "Mode",
        "NoisyConv2d",
        "NoisyEventInteraction",
        "NoisyEventTranslation",
        "NoisyEventWeighting",
        "NoisyLayer",
        "current_draw",
        "draw",
        "hold",
        "kl_divergence",
        "mean_draw",
        "mean_sigma",
        "noisy_layers",
        "resample",
        "use_mean",
    }


def test_importing_the_package_does_not_load_torch():
    result = run("import sys, evade, evade.config, evade.errors; print('torch' in sys.modules)")
    assert result.stdout.strip() == "False", result.stderr


def test_what_a_person_sees_does_not_load_torch():
    modules = [
        "viewing.display",
        "evidence.figures.learning_curve",
        "viewing.panels",
        "runs.tensorboard",
        "viewing.videos",
    ]
    result = run(f"import sys, {', '.join(f'evade.{m}' for m in modules)}; print('torch' in sys.modules)")
    assert result.stdout.strip() == "False", result.stderr


def test_importing_the_layers_loads_nothing_else_of_ours():
    result = run(
        "import sys, evade.layers; print([m for m in sys.modules if m.startswith('evade.') and 'layers' not in m])"
    )
    assert result.stdout.strip() == "[]", result.stderr


def test_the_layers_work_when_their_folder_is_copied_into_another_project(tmp_path):
    project = tmp_path / "theirs"
    project.mkdir()
    (project / "__init__.py").touch()
    (project / "layers").mkdir()
    for file in (ROOT / "src/evade/layers").glob("*.py"):
        (project / "layers" / file.name).write_text(file.read_text().replace("evade.layers", "theirs.layers"))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import torch, theirs.layers as layers\n"
        "layers.draw(torch.nn.Sequential(layers.NoisyEventTranslation(3)))\n"
        "print([m for m in sys.modules if m.startswith('evade')])\n"
    )
    assert run(code).stdout.strip() == "[]"


def test_the_readme_example_runs_and_is_eight_lines():
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"```python\n(import torch\nfrom evade.layers.*?)```", readme, re.DOTALL)[1]
    assert len(example.strip().splitlines()) == 8
    result = run(example)
    assert result.returncode == 0, result.stderr


def test_every_file_of_the_package_says_what_it_owns():
    for file in (ROOT / "src/evade").rglob("*.py"):
        assert file.read_text().startswith(('"""', 'r"""')), file


def test_the_project_names_no_package_host():
    files = [ROOT / name for name in ("pyproject.toml", "constraints.txt", "Makefile", "README.md", "CONTRIBUTING.md")]
    for file in files:
        assert not re.search(r"pypi\.org|pythonhosted|download\.pytorch|--index-url", file.read_text()), file
