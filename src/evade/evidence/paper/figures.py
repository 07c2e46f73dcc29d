"""The figures of the paper's data."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from evade.evidence.figures import FigureFormat, plot_aggregates, plot_improvement, plot_profiles, save_figure
from evade.evidence.paper.recompute import ablation_scores, headline_scores


def save_figures(folder: Path, form: FigureFormat = "png", seed: int = 0) -> list[Path]:
    """Save every figure of the paper's data into a folder, which is created if missing, and return their paths."""
    return [save_figure(plot(seed=seed), folder / f"{name}.{form}") for name, plot in _plots().items()]


def _plots() -> Mapping[str, Callable[..., Figure]]:
    headline, ablation = headline_scores(), ablation_scores()
    pair = {name: headline[name] for name in ("simple30", "evade")}
    return {
        "headline": partial(plot_aggregates, headline, is_published=True),
        "ablation": partial(plot_aggregates, ablation, is_published=True),
        "profile": partial(plot_profiles, pair),
        "ablation-profile": partial(plot_profiles, ablation),
        "improvement": partial(plot_improvement, headline["evade"], headline["simple30"], ("evade", "simple30")),
    }
