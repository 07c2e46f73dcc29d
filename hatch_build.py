"""The README as package indexes show it: they do not have the files of the repository, so no link may be relative.

`repository` in `[tool.hatch.metadata.hooks.custom]` of pyproject.toml is the address of the files, for instance
`https://host/owner/evade/blob/v0.1.0/`. With it, relative links become absolute. Without it, links become plain text
that names the file, and images are left out.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!\w+://|#|mailto:)(?P<path>[^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Fills in the dynamic field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README with links that work everywhere."""
        text = (Path(self.root) / "README.md").read_text()
        readme = resolve_links(text, self.config.get("repository", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def resolve_links(text: str, repository: str) -> str:
    """The text without relative links, outside code blocks."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda m: _resolve(m, repository), part) for part in parts
    )


def _resolve(match: re.Match[str], repository: str) -> str:
    if repository:
        return f"{match['image']}[{match['text']}]({repository.rstrip('/')}/{match['path']})"
    if match["image"]:
        return ""
    return match["text"] if match["text"] == match["path"] else f"{match['text']} (`{match['path']}`)"
