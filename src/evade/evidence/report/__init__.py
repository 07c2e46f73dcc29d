"""A page that shows what runs achieved, each number linked to the raw episodes behind it. No torch here."""

from evade.evidence.report.build import write_report
from evade.evidence.report.verify import verify_report

__all__ = ["verify_report", "write_report"]
