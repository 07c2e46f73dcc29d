"""Numbers other people published, as data: the paper's runs, its tables, and aggregates of the wider field.

Each file is tidy (one value per row) and every row says where its number comes from. The paper's own tables are
named by their label in its source (`tab:all_scores` and so on). Scores stand exactly as printed.
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
