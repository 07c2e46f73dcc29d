"""What MkDocs calls while it builds the site: adds the generated pages, the notebook and the changelog."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from notebook_page import run_notebook, to_page
from reference_pages import api_page, commands_page, module_pages, settings_page

ROOT = Path(__file__).parents[2]
NOTEBOOKS = {"event_layers"}
GENERATED = ("reference/commands.md", "reference/settings.md", "reference/api.md")


def on_config(config: Any) -> Any:
    """Make the navigation: one tab for each folder, pages in the order of their names."""
    config["nav"] = [
        {"Home": "index.md"},
        {"Start": ["start/install.md", "start/first_run.md", *(f"notebooks/{name}.md" for name in sorted(NOTEBOOKS))]},
        {"Do": _pages("do")},
        {"Understand": ["algorithm.md", *_pages("understand"), "deviations.md"]},
        {"Reference": [*GENERATED, *_pages("reference"), {"Modules": list(module_pages())}]},
        {"Results": _pages("results")},
        {"Decisions": _pages("decisions")},
        {"Project": ["changelog.md", "contributing.md"]},
    ]
    return config


def _pages(folder: str) -> list[str]:
    return [f"{folder}/{path.name}" for path in sorted((ROOT / "docs" / folder).glob("*.md"))]


def on_files(files: Files, config: Any) -> Files:
    """Add every generated page."""
    pages: dict[str, str | bytes] = {
        **dict(zip(GENERATED, (commands_page(), settings_page(), api_page()), strict=True)),
        **{f"{name.lower()}.md": _from_root(f"{name}.md") for name in ("CHANGELOG", "CONTRIBUTING")},
        **module_pages(),
    }
    for name in sorted(NOTEBOOKS):
        page, pictures = to_page(run_notebook(ROOT / "docs" / "notebooks" / f"{name}.ipynb"), name)
        pages[f"notebooks/{name}.md"] = page
        pages |= {f"notebooks/{file}": data for file, data in pictures.items()}
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def _from_root(name: str) -> str:
    """A page of the repository's root as one of the site; a folder, which a site has no page for, loses its link."""
    text = (ROOT / name).read_text()
    return re.sub(r"\[([^\]]+)\]\(docs/[^).]+\)", r"\1", text).replace("](docs/", "](")
