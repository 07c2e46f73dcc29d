"""`evade doctor`: is everything here that training needs?"""

import json
from dataclasses import asdict


def doctor(as_json: bool = False) -> int:
    """Show versions, device, threads, optional parts, and run a short self-test. Exit code 1 if something is wrong.

    Args:
        as_json: print one JSON object instead of a table.
    """
    # Imported here so that `evade --help` does not wait for torch.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from evade.runtime.machine import examine

    findings = examine()
    all_well = all(finding.is_well for finding in findings)
    if as_json:
        print(json.dumps({"all_well": all_well, "findings": [asdict(finding) for finding in findings]}))
        return 0 if all_well else 1
    table = Table(show_header=False, box=None)
    for finding in findings:
        mark = Text("ok", "green") if finding.is_well else Text("wrong", "red")
        # As text, because rich would take the brackets of `evade[atari]` for markup.
        table.add_row(mark, Text(finding.name), Text(finding.value))
    console = Console()
    console.print(table)
    console.print("All checks passed." if all_well else "Some checks failed: see the lines marked wrong.")
    return 0 if all_well else 1
