"""Results of our own runs, read from the run folders: comparison, tables, index. No torch here."""

from evade.evidence.results.compare import Comparison, compare_runs
from evade.evidence.results.comparison_tables import ComparisonTable, build_comparison_tables
from evade.evidence.results.index import IndexedRun, MetricPoint, build_index, query_metric, query_runs
from evade.evidence.results.read import EpisodeRow, MetricRow, RunResult, read_run, read_runs
from evade.evidence.results.scores_csv import read_scores, write_scores

__all__ = [
    "Comparison",
    "ComparisonTable",
    "EpisodeRow",
    "IndexedRun",
    "MetricPoint",
    "MetricRow",
    "RunResult",
    "build_comparison_tables",
    "build_index",
    "compare_runs",
    "query_metric",
    "query_runs",
    "read_run",
    "read_runs",
    "read_scores",
    "write_scores",
]
