"""Read the CSV files of this package."""

import csv
from importlib.resources import files


def read_rows(name: str) -> list[dict[str, str]]:
    """Read all rows of a CSV file as text by column name."""
    text = files("evade.evidence.published").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
