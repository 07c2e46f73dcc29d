"""The agents of the paper: which event layers each has, what tables call it, and how figures show it."""

from dataclasses import dataclass
from typing import Literal

EventLayer = Literal["translation", "weighting", "interaction"]
"""The three noisy event layers of the paper's section 3, by name."""

EVADE: tuple[EventLayer, ...] = ("translation", "weighting", "interaction")
"""All three in the paper's order of insertion: the full EVaDE agent. The empty tuple is SimPLe(30)."""

Line = str | tuple[float, tuple[float, ...]]
"""A line as matplotlib names it: a pattern, or an offset with lengths of ink and gap."""


@dataclass(frozen=True)
class Variant:
    """One agent."""

    name: str
    """As in settings and run folders."""
    event_layers: tuple[EventLayer, ...]
    """Event layers of the reward path, in order of insertion."""
    label: str
    """As tables and legends show it."""
    paper_method: str | None
    """Its row in the paper's tables (`evade.evidence.published`); None if the paper has none."""
    colour: str
    marker: str
    line: Line


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("simple", (), "SimPLe(30)", "simple30", "#4D4D4D", "s", "--"),
        Variant("interaction", ("interaction",), "Interaction", "evade-interaction", "#0072B2", "^", "-."),
        Variant("weighting", ("weighting",), "Weighting", "evade-weighting", "#009E73", "v", ":"),
        Variant(
            "translation",
            ("translation",),
            "Translation",
            "evade-translation",
            "#CC79A7",
            "D",
            (0.0, (6.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
        ),
        Variant("evade", EVADE, "EVaDE-SimPLe", "evade", "#D55E00", "o", "-"),
    )
}
"""By name, in the order of tables. The colours start from the palette of Okabe and Ito (2008)."""

DEFAULT_VARIANT = "evade"
