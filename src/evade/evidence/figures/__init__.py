"""Figures of scores. Each function takes normalised scores and returns a matplotlib figure."""

from evade.evidence.figures.aggregates import plot_aggregates
from evade.evidence.figures.per_game import plot_improvement
from evade.evidence.figures.profiles import plot_profiles
from evade.evidence.figures.style import COLUMN_WIDTH, STYLES, FigureFormat, VariantStyle, save_figure, variant_style

__all__ = [
    "COLUMN_WIDTH",
    "STYLES",
    "FigureFormat",
    "VariantStyle",
    "plot_aggregates",
    "plot_improvement",
    "plot_profiles",
    "save_figure",
    "variant_style",
]
