"""Debian's Chromium without a window: what a page holds once it is loaded, and what went wrong on the way."""

import re
import shutil
import subprocess
from typing import NamedTuple

CHROMIUM = shutil.which("chromium")

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-logging=stderr",
)


class Loaded(NamedTuple):
    """A page after its loading."""

    dom: str
    complaints: list[str]
    """Lines of the console; a blocked or missing file is one."""


def load_page(page, profile, *options):
    """Open a file and return its document."""
    words = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", *options, "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    return Loaded(done.stdout, re.findall(r".*CONSOLE.*", done.stderr))
