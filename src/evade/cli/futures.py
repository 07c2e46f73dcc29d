"""`evade futures`: a picture of what a run's world model dreams from one start."""

from pathlib import Path
from typing import Annotated

import tyro

from evade.checks import require

MAX_COUNT, MAX_STEPS = 32, 50
"""Dreams and steps of one picture; of Atari at the paper's size the largest one already takes 2.7 GB."""


def futures(
    run: Annotated[Path, tyro.conf.Positional],
    to: Path = Path("futures.png"),
    count: int = 8,
    steps: int = 12,
    seed: int = 0,
    allow_import: tuple[str, ...] = (),
) -> int:
    """Render one start, what the game did next, and several dreams of the same actions; the run is not changed.

    Args:
        run: the run's folder.
        to: the picture to write, a PNG file.
        count: number of dreams.
        steps: their length.
        seed: chooses the start and the dreams' random numbers.
        allow_import: modules that the run's game may import, if it is named MODULE:ID.
    """
    require(1 <= count <= MAX_COUNT, "count", count, f"must be 1 to {MAX_COUNT}")
    require(1 <= steps <= MAX_STEPS, "steps", steps, f"must be 1 to {MAX_STEPS}")
    require(0 <= seed < 2**31, "seed", seed, "must be a whole number from 0 to 2147483647")
    # Imported here so that `evade --help` does not wait for torch.
    from matplotlib.image import imsave

    from evade.training.load import load_run
    from evade.viewing.futures import render_futures

    picture = render_futures(load_run(run, allow_import), num_futures=count, num_steps=steps, seed=seed)
    to.parent.mkdir(parents=True, exist_ok=True)
    imsave(to, picture, format="png")
    print(f"Wrote {to}: the game in the first row, {count} dreams of the same actions below.")
    return 0
