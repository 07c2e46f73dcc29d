"""Published numbers as data: the paper's runs and tables, aggregates of other methods, MinAtar reference scores.

Each file is tidy (one value per row) and every row names its source. The paper's tables are named by their label in
its LaTeX source (`tab:all_scores` and so on). Scores are exactly as printed.
"""

from evade.evidence.published.anchors import (
    Anchor,
    AnchorCost,
    Certainty,
    ReferenceScore,
    read_anchor_costs,
    read_anchors,
    read_minatar,
)
from evade.evidence.published.paper import (
    METHODS,
    HumanRandom,
    MeanScore,
    PrintedValue,
    RunScore,
    game_means,
    game_runs,
    game_scores,
    read_human_random,
    read_means,
    read_printed,
    read_runs,
)

__all__ = [
    "METHODS",
    "Anchor",
    "AnchorCost",
    "Certainty",
    "HumanRandom",
    "MeanScore",
    "PrintedValue",
    "ReferenceScore",
    "RunScore",
    "game_means",
    "game_runs",
    "game_scores",
    "read_anchor_costs",
    "read_anchors",
    "read_human_random",
    "read_means",
    "read_minatar",
    "read_printed",
    "read_runs",
]
