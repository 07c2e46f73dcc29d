"""`evade figures`: a run's event layers, draws and sigmas as figures for a paper."""

from pathlib import Path
from typing import Annotated, Literal

import tyro


def figures(
    run: Annotated[Path, tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    channel: int | None = None,
    draws: int = 16,
    draw: int | Literal["mean"] | None = None,
    frame: int | None = None,
    gif: bool = False,
    allow_import: tuple[str, ...] = (),
) -> int:
    """Plot what a run's event layers and draws make of one real frame, as PNG and SVG; the run is not changed.

    For each event layer: the frame, a map before and after the layer, and their difference. Further the expected reward
    of each action under the mean and under draws, and all sigmas as heat maps.

    Args:
        run: the run's folder.
        output: folder of the figures.
        channel: a channel to show besides the one that changes most.
        draws: how many draws are asked for rewards.
        draw: which draw the maps are under: its number, or mean; by default that of the run's last dreams.
        frame: which frame of the run's experience; by default the one draws disagree about most, of 64.
        gif: also write dream.gif (the mean model beside the game) and draws.gif (three draws side by side).
        allow_import: modules that the run's game may import, if it is named MODULE:ID.
    """
    # Imported here so that `evade --help` does not wait for torch.
    import torch

    from evade.evidence.figures.inspection import write_figures
    from evade.training.load import load_run
    from evade.viewing.films import write_gifs
    from evade.viewing.inspection import inspect_run

    torch.set_num_threads(1)
    loaded = load_run(run, allow_import)
    replay = loaded.read_replay()
    inspection = inspect_run(loaded, replay, num_draws=draws, draw=draw, channel=channel, frame=frame)
    for path in write_figures(inspection, output):
        print(path)
    if gif:
        for path in write_gifs(loaded, replay.observation(inspection.frame), output):
            print(path)
    return 0
