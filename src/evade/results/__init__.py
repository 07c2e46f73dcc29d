"""Our own runs as results: read from run folders, which are the truth. No torch here."""

from evade.results.read import EpisodeRow, MetricRow, RunResult, read_run, read_runs

__all__ = ["EpisodeRow", "MetricRow", "RunResult", "read_run", "read_runs"]
