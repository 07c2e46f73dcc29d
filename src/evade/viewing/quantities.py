"""The plain names and units of the numbers a run reports, and how a person reads them."""

import math
from typing import NamedTuple


class Quantity(NamedTuple):
    """How one number is called and shown."""

    label: str
    unit: str = ""
    """What follows the value; `%` also means that the number is a share, shown a hundredfold."""


QUANTITIES = {
    "loss": Quantity("world-model loss", "nats"),
    "frame_loss": Quantity("frame loss", "nats"),
    "reward_loss": Quantity("reward loss", "nats"),
    "end_loss": Quantity("end loss", "nats"),
    "kl": Quantity("KL divergence", "nats"),
    "entropy": Quantity("policy entropy", "nats"),
    "sigma": Quantity("sigma, mean"),
    "mean_sigma": Quantity("sigma, mean"),
}
"""Numbers whose name in the metrics says too little; all others are called as they are written there."""

UNITS = {
    "_accuracy": "%",
    "_share": "%",
    "_return": "points",
    "_score": "points",
    "_per_second": "/s",
    "_seconds": "s",
}
"""Units that the end of a name tells."""


def describe(name: str) -> Quantity:
    """The label and unit of a number by its name in the metrics; `real_return` is "real return" in points."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    ending = next((ending for ending in UNITS if f"_{name}".endswith(ending)), None)
    if ending is None:
        return Quantity(name.replace("_", " "))
    is_told_by_unit = ending in ("_per_second", "_seconds") and name != ending[1:]
    label = name.removesuffix(ending) if is_told_by_unit else name
    return Quantity(label.replace("_", " "), UNITS[ending])


def format_value(value: float, unit: str = "") -> str:
    """A number in its unit as a person reads it, with about three digits; the unit itself is not written."""
    number = 100 * value if unit == "%" else value
    size = abs(number)
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if size < 0.001:
        return f"{number:.1e}"
    decimals = next((count for above, count in ((1000, 0), (100, 1), (1, 2), (0.1, 3)) if size >= above), 4)
    return f"{number:,.{decimals}f}"


def format_duration(seconds: float) -> str:
    """A time in its two largest units: `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, unit, part_size, part_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part_size} {part_unit}"
    return f"{whole} s"
