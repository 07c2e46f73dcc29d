"""Sampled futures of one start, beside what the game did."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evade.dreams.env import DreamEnv
from evade.envs.pictures import render_frame
from evade.errors import RunError
from evade.layers import hold
from evade.records import Segments
from evade.training.load import LoadedRun

GAP = 2
"""Pixels between frames."""


def render_futures(
    run: LoadedRun, *, num_futures: int = 8, num_steps: int = 12, seed: int = 0, scale: int = 8
) -> NDArray[np.uint8]:
    """A picture of one start: the first row is the game, each other row a dream of the same actions.

    The first column is the start, where all rows are equal. Dreams of a model that samples differ by chance alone;
    those of a deterministic one are all equal. After an end a row stays dark.

    Args:
        run: a trained run.
        num_futures: dreams.
        num_steps: steps, and so columns after the first.
        seed: chooses the start, in the run's newest experience, and the dreams' random numbers.
        scale: pixels of a cell.

    Returns:
        uint8 `[height, width, 3]`.
    """
    generator = torch.Generator().manual_seed(seed)
    segments = run.read_replay().segments(1, num_steps, generator, newest=True)
    if len(segments.observation) == 0:
        raise RunError(f"No game of the run's newest experience has {num_steps} more steps: ask for fewer steps.")
    hold(run.world_model, run.draw)
    rows = [_game_row(segments), *_dream_rows(run, segments, num_futures, generator)]
    levels = run.game.levels
    return np.concatenate([_render_row(row, levels, scale) for row in rows])


def _game_row(segments: Segments) -> list[Tensor]:
    frames = [segments.observation[0, -1], *segments.frame[:, 0]]
    is_shown = [True, *segments.happened[:, 0].tolist()]
    return [frame if shown else torch.zeros_like(frame) for frame, shown in zip(frames, is_shown, strict=True)]


@torch.no_grad()
def _dream_rows(run: LoadedRun, segments: Segments, count: int, generator: torch.Generator) -> list[list[Tensor]]:
    starts = segments.observation.expand(2 * count, -1, -1, -1, -1)
    dream = DreamEnv(run.world_model, count, lambda _: starts, generator=generator)
    rows = [[frame] for frame in dream.reset()[:, -1]]
    is_on = torch.ones(count, dtype=torch.bool)
    for action in segments.action:
        step = dream.step(action.expand(count))
        is_on &= ~step.terminated
        for row, frame, shown in zip(rows, step.observation[:, -1], is_on, strict=True):
            row.append(frame * shown)
    return rows


def _render_row(frames: list[Tensor], levels: int, scale: int) -> NDArray[np.uint8]:
    pictures = [render_frame(frame.numpy(), levels, scale) for frame in frames]
    padded = [np.pad(each, ((0, GAP), (0, GAP), (0, 0)), constant_values=255) for each in pictures]
    return np.concatenate(padded, axis=1)
