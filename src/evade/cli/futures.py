"""`evade futures`: a picture of what a run's world model dreams from one start."""

from pathlib import Path
from typing import Annotated

import tyro


def futures(
    run: Annotated[Path, tyro.conf.Positional],
    to: Path = Path("futures.png"),
    count: int = 8,
    steps: int = 12,
    seed: int = 0,
) -> int:
    """Render one start, what the game did next, and several dreams of the same actions; the run is not changed.

    Args:
        run: the run's folder.
        to: the picture to write, a PNG file.
        count: number of dreams.
        steps: their length.
        seed: chooses the start and the dreams' random numbers.
    """
    # Imported here so that `evade --help` does not wait for torch.
    from matplotlib.image import imsave

    from evade.training.load import load_run
    from evade.viewing.futures import render_futures

    picture = render_futures(load_run(run), num_futures=count, num_steps=steps, seed=seed)
    to.parent.mkdir(parents=True, exist_ok=True)
    imsave(to, picture, format="png")
    print(f"Wrote {to}: the game in the first row, {count} dreams of the same actions below.")
    return 0
