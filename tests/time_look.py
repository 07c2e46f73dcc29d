"""How long the page takes, in a real browser: from a key press to the picture, and for 64 draws of one frame.

    python tests/time_look.py [RUN] [--presses 60]

By default the run that comes with the package. The time of a press begins with the browser's own time stamp of the key
event and ends after the picture is painted. Processor time of the server is printed too: on a busy machine the clock
measures the others.
"""

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

import torch

from devtools import open_browser, open_page
from evade.viewing.look.server import LookServer
from evade.viewing.look.source import DEMO, RunSource


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, round(share * len(values)))]


def time_presses(page, count, pause):
    """Milliseconds of each key press, and the server's processor milliseconds for each."""
    took, begin = [], time.process_time()
    for _ in range(count):
        page.evaluate("delete document.body.dataset.latency")
        if page.evaluate("document.getElementById('game').classList.contains('over')"):
            page.press("r")
            page.wait("document.getElementById('game').dataset.step == 0")
        page.press(" ")
        took.append(float(page.wait("document.body.dataset.latency", 120)))
        time.sleep(pause)
    return took, 1000 * (time.process_time() - begin) / count


def time_draws(page, count, repeats):
    """Milliseconds for the rewards under `count` draws of one frame, asked for as the page does."""
    code = f"""(async () => {{
        const {{ask}} = await import("./socket.js"), begin = performance.now();
        await ask("seek", {{step: 0}});
        let strip, isDone = false;
        while (!isDone) {{
          strip = await ask("rewards", {{count: {count}, edits: [[0, %d, %d]]}});
          isDone = strip.draws.length == strip.wanted;
        }}
        return performance.now() - begin; }})()"""
    if not page.evaluate("document.getElementById('what-if').hidden"):
        return [page.evaluate(code % (number % 9, number // 9)) for number in range(repeats)]
    return [page.evaluate(code.replace(", edits: [[0, %d, %d]]", "")) for _ in range(1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, default=DEMO)
    parser.add_argument("--presses", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two presses")
    parser.add_argument("--draws", type=int, default=64)
    words = parser.parse_args()
    torch.set_num_threads(1)
    server = LookServer(RunSource(words.run))
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
            open_browser(Path(profile)) as port,
            open_page(port, server.url) as page,
        ):
            page.wait("document.body?.dataset.ready == 'yes'", 60)
            time_presses(page, 5, words.pause)
            took, processor = time_presses(page, words.presses, words.pause)
            draws = time_draws(page, words.draws, 10)
    finally:
        server.stop()
        thread.join()
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"load of the machine {load}")  # noqa: T201
    print(  # noqa: T201
        f"key to picture: median {statistics.median(took):.0f} ms, p95 {percentile(took, 0.95):.0f} ms; "
        f"{processor:.0f} ms of the server's processor time"
    )
    print(f"{words.draws} draws: median {statistics.median(draws):.0f} ms, longest {max(draws):.0f} ms")  # noqa: T201


if __name__ == "__main__":
    main()
