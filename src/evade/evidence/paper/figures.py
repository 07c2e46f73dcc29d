"""The paper's evidence as figures."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from evade.evidence.figures import FigureFormat, draw_aggregates, draw_improvement, draw_profiles, save_figure
from evade.evidence.paper.recompute import ablation_scores, headline_scores


def save_figures(folder: Path, form: FigureFormat = "png", seed: int = 0) -> list[Path]:
    """Draw every figure of the paper's data and write them into a folder, which is made when it does not exist."""
    return [save_figure(draw(seed=seed), folder / f"{name}.{form}") for name, draw in _figures().items()]


def _figures() -> Mapping[str, Callable[..., Figure]]:
    headline, ablation = headline_scores(), ablation_scores()
    pair = {name: headline[name] for name in ("simple30", "evade")}
    return {
        "headline": partial(draw_aggregates, headline),
        "ablation": partial(draw_aggregates, ablation),
        "profile": partial(draw_profiles, pair),
        "ablation-profile": partial(draw_profiles, ablation),
        "improvement": partial(draw_improvement, headline["evade"], headline["simple30"], ("evade", "simple30")),
    }
