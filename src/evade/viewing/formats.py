"""Numbers and durations as people read them."""

import math

COUNTS = ("steps", "games", "episodes", "runs", "updates")
"""Units of things that are counted: a whole number of them has no decimals."""


def format_value(value: float, unit: str = "") -> str:
    """A number in its unit as a person reads it, with about three digits; the unit itself is not written."""
    number = 100 * value if unit == "%" else value
    if unit in COUNTS and number == round(number):
        return f"{number:,.0f}"
    size = abs(number)
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if size < 0.001:
        return f"{number:.1e}"
    decimals = next((count for above, count in ((1000, 0), (100, 1), (1, 2), (0.1, 3)) if size >= above), 4)
    return f"{number:,.{decimals}f}"


def format_duration(seconds: float) -> str:
    """A duration in its two largest units: `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, unit, part_size, part_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part_size} {part_unit}"
    return f"{whole} s"
