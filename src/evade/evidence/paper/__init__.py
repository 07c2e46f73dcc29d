"""The paper's evidence, recomputed from its own runs and held against what it prints."""

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
