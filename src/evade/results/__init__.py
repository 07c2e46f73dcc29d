"""Our own runs as results: read from run folders, which are the truth. No torch here."""

from evade.results.index import IndexedRun, MetricPoint, build_index, query_metric, query_runs
from evade.results.read import EpisodeRow, MetricRow, RunResult, read_run, read_runs

__all__ = [
    "EpisodeRow",
    "IndexedRun",
    "MetricPoint",
    "MetricRow",
    "RunResult",
    "build_index",
    "query_metric",
    "query_runs",
    "read_run",
    "read_runs",
]
