"""A static HTML report of runs, with every number linked to its raw episodes. No torch here."""

from evade.evidence.report.build import write_report
from evade.evidence.report.verify import verify_report

__all__ = ["verify_report", "write_report"]
