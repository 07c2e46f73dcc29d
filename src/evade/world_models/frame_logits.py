"""The frame head's logits of each cell, computed in chunks of cells.

At the paper's size the frame head gives 105 x 80 x 3 x 256 logits, 26 MB in float32 for each example, and the
gradient is as large again. Processed in chunks that fit into a core's cache, they are never in memory as a whole.
"""

import torch
from torch import Tensor

CHUNK_BYTES = 3 * 2**20
"""Float32 logits of one chunk for each thread: 1,024 cells at the paper's size. Measured with 1 MB of second-level
cache per core and batch 16: with one thread loss and gradients take 0.43 s from 1.5 to 3 MB and 0.47 s from 6 to 24 MB;
with two threads, which must be woken for every operation on a chunk, 0.25 s from 1.5 to 3 MB, 0.27 s at 0.75 MB and
0.32 s at 6 MB. A MinAtar batch of 64 frames of 10 x 10 x 10 x 2 is half a megabyte, and so one chunk."""


def compute_logits(cells: Tensor, weight: Tensor, bias: Tensor, num_channels: int) -> Tensor:
    """Cells `[n, D]` to logits `[n, C, V]`, at least float32; the product is computed in the cells' dtype.

    Args:
        cells: `[n, D]`.
        weight: `[C * V, D]`, in the cells' dtype.
        bias: `[C * V]`, at least float32.
        num_channels: C.
    """
    is_full = cells.dtype == bias.dtype
    flat = torch.addmm(bias, cells, weight.t()) if is_full else cells @ weight.t() + bias
    return flat.view(len(cells), num_channels, -1)


def compute_log_odds(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The log-odds that a value is 1, at least float32 `[B, C, H, W]`, for cells of two values.

    The difference of the two logits as one product, which is half of the work; the loss of a fit of MinAtar's size then
    takes a third of the time of a softmax over two values. The result has the memory layout of frames, so that nothing
    is transposed where it meets them.

    Args:
        features: `[B, D, H, W]`.
        weight: `[C * 2, D]`.
        bias: `[C * 2]`, at least float32.
    """
    weight, bias = weight[1::2] - weight[::2], bias[1::2] - bias[::2]
    batch, _, height, width = features.shape
    products = torch.bmm(weight.to(features.dtype).expand(batch, -1, -1), features.flatten(2))
    return (products + bias[:, None]).view(batch, -1, height, width)


def as_cells(x: Tensor) -> Tensor:
    """`[B, C, H, W]` as one row for each cell, `[B * H * W, C]`."""
    return x.permute(0, 2, 3, 1).flatten(0, 2)


def cells_per_chunk(weight: Tensor) -> int:
    """Cells in one thread's chunk, for a head of weight `[C * V, D]`."""
    return max(CHUNK_BYTES // (4 * weight.shape[0]), 1)


def split_into_chunks(cells: Tensor, chunk_size: int) -> list[slice]:
    """Slices of `[N, D]` that give each thread `chunk_size` cells at a time."""
    size = chunk_size * torch.get_num_threads()
    return [slice(start, start + size) for start in range(0, cells.shape[0], size)]
