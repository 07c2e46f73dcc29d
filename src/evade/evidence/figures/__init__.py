"""Figures of scores: how good, how sure, where. Each function takes normalised scores and gives a matplotlib figure."""

from evade.evidence.figures.aggregates import draw_aggregates
from evade.evidence.figures.per_game import draw_improvement
from evade.evidence.figures.profiles import draw_profiles
from evade.evidence.figures.style import COLUMN_WIDTH, VARIANTS, FigureFormat, VariantStyle, save_figure, variant_style

__all__ = [
    "COLUMN_WIDTH",
    "VARIANTS",
    "FigureFormat",
    "VariantStyle",
    "draw_aggregates",
    "draw_improvement",
    "draw_profiles",
    "save_figure",
    "variant_style",
]
