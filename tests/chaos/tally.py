"""What attacks found, counted."""

from collections import Counter
from dataclasses import dataclass, field

FINDINGS = ("silent", "traceback", "hang", "signal", "outside")
HEADINGS = ("attack", "cases", "silent acceptances", "tracebacks", "hangs", "signals", "writes outside")


@dataclass
class Tally:
    """Cases and findings by attack."""

    cases: Counter = field(default_factory=Counter)
    findings: Counter = field(default_factory=Counter)
    examples: list = field(default_factory=list)

    def add(self, attack, case, found):
        """Count one case; `found` names the findings in it, with what was seen."""
        self.cases[attack] += 1
        for finding, seen in found.items():
            assert finding in FINDINGS, finding
            self.findings[attack, finding] += 1
            self.examples.append(f"{attack}: {finding}: {case}: {seen.strip()[-600:]}")

    @property
    def num_findings(self):
        return sum(self.findings.values())

    def table(self):
        rows = [HEADINGS]
        for attack, count in self.cases.items():
            rows.append((attack, f"{count:,}", *(str(self.findings[attack, name]) for name in FINDINGS)))
        totals = [sum(self.findings[attack, name] for attack in self.cases) for name in FINDINGS]
        rows.append(("all", f"{sum(self.cases.values()):,}", *map(str, totals)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if not column else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        )
