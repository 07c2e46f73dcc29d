"""Reading a CSV file that is shipped inside the package."""

import csv
from importlib.resources import files


def read_rows(name: str) -> list[dict[str, str]]:
    """All rows of one of this package's CSV files, each by column name, as text."""
    text = files("evade.evidence.published").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
