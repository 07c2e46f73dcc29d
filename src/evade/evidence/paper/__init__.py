"""The paper's numbers, recomputed from its runs and compared with the printed ones."""

from evade.evidence.paper.disagreements import Disagreement, find_disagreements
from evade.evidence.paper.recompute import ABLATION, HEADLINE, ablation_scores, headline_scores
from evade.evidence.paper.tables import TABLES, TableName, build_tables

__all__ = [
    "ABLATION",
    "HEADLINE",
    "TABLES",
    "Disagreement",
    "TableName",
    "ablation_scores",
    "build_tables",
    "find_disagreements",
    "headline_scores",
]
