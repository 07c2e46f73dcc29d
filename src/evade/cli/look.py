"""`evade look`: play the dream and see the draws, in a browser."""

import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import tyro

from evade.envs.extras import import_extra
from evade.errors import LookError

LARGE_FRAME = 4000
"""Cells of a frame from which on all cores are used: Atari at the paper's size has 8,400."""


def look(
    run: Annotated[Path | None, tyro.conf.Positional] = None,
    port: int = 0,
    browser: bool = True,
    demo: bool = False,
    allow_import: tuple[str, ...] = (),
) -> int:
    """Look inside a run in a browser: play the dream beside the game, compare draws, see what each layer does.

    The page is served on this machine only, until Ctrl-C. The run may still be training; it is not changed.

    Args:
        run: a run folder.
        port: the port to listen on; any free one if 0.
        browser: open the page.
        demo: look at the small run that comes with the package.
        allow_import: modules that the run's game may import, if it is named MODULE:ID.
    """
    if (run is None) == (not demo):
        raise LookError("Give a run folder, or --demo for the run that comes with the package.")
    for module in ("starlette", "uvicorn", "websockets"):
        import_extra(module, extra="look")
    # Imported here so that `evade --help` does not wait for torch.
    import torch

    from evade.viewing.look.server import LookServer
    from evade.viewing.look.source import DEMO, RunSource

    source = RunSource(DEMO if run is None else run, allow_import)
    # Small frames are fastest on one thread, and leave the other cores to a run that trains.
    if source.run.game.height * source.run.game.width < LARGE_FRAME:
        torch.set_num_threads(1)
    server = LookServer(source, port)
    print(f"{server.url}\nOpen this address in a browser on this machine; Ctrl-C ends it.", flush=True)
    if browser:
        # In a thread, because a browser in the terminal keeps its caller waiting.
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        server.serve()
    return 0
