"""The frame head's scores of each cell, worked off a piece of the cells at a time.

At the paper's size the frame head gives 105 x 80 x 3 x 256 scores, 26 MB in float32 for each example, and the
gradient is as large again. Worked off in pieces that stay in a core's cache, they are never in memory as a whole.
"""

import torch
from torch import Tensor

PIECE_BYTES = 3 * 2**20
"""Float32 scores of one piece for each thread: 1,024 cells at the paper's size. Measured with 1 MB of second-level
cache a core and batch 16: with one thread loss and gradients take 0.43 s from 1.5 to 3 MB and 0.47 s from 6 to 24 MB;
with two threads, which must be woken for every operation on a piece, 0.25 s from 1.5 to 3 MB, 0.27 s at 0.75 MB and
0.32 s at 6 MB. A MinAtar batch of 64 frames of 10 x 10 x 10 x 2 is half a megabyte, and so one piece."""


def score_cells(cells: Tensor, weight: Tensor, bias: Tensor, num_channels: int) -> Tensor:
    """`[n, C, V]` in float32 at least, though multiplied in the cells' and the weight's type."""
    is_full = cells.dtype == bias.dtype
    flat = torch.addmm(bias, cells, weight.t()) if is_full else cells @ weight.t() + bias
    return flat.view(len(cells), num_channels, -1)


def as_cells(x: Tensor) -> Tensor:
    """`[B, C, H, W]` as one row for each cell, `[B * H * W, C]`."""
    return x.permute(0, 2, 3, 1).flatten(0, 2)


def cells_per_piece(weight: Tensor) -> int:
    """For each thread, with a head of weight `[C * V, D]`."""
    return max(PIECE_BYTES // (4 * weight.shape[0]), 1)


def cut_into_pieces(cells: Tensor, piece_size: int) -> list[slice]:
    """Where to cut `[N, D]` so that each thread has `piece_size` cells at a time."""
    size = piece_size * torch.get_num_threads()
    return [slice(start, start + size) for start in range(0, cells.shape[0], size)]
