import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden():
    """What rliable 1.2.0 and scipy say about the paper's runs; golden/make_stats.py made it."""
    return json.loads((Path(__file__).parents[2] / "golden" / "stats.json").read_text())
