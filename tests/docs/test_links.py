"""Every relative link and image of the documentation leads somewhere."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def without_code(text):
    """The text without fenced blocks and inline code, where brackets are not links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def find_links(page):
    """The targets of all links and images, those of images inside links included."""
    return re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text()))


@cache
def anchors(page):
    """The anchors of a page's headings: lower case, without punctuation, dashes for spaces."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page):
    for link in find_links(page):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


def test_links_are_found_at_all():
    """A wrong pattern would find none and pass."""
    found = find_links(ROOT / "README.md")
    assert "docs/images/dream.gif" in found
    assert "docs/algorithm.md" in found
    minatar = find_links(ROOT / "docs" / "results" / "minatar.md")
    assert "#the-second-protocol-sticky-actions" in minatar
    assert "../images/results/minatar-asterix.svg" in minatar


def test_every_page_can_be_reached_from_the_readme():
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in find_links(page) if "://" not in link]
        queue += [target for target in targets if target.suffix == ".md"]
        queue += [file for target in targets if target.is_dir() for file in target.glob("*.md")]
    assert set(PAGES) <= reached
