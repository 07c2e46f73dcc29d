"""Input noise while fitting: some cells are replaced by the batch's median colour."""

import torch
from torch import Tensor


def median_colour(observation: Tensor) -> Tensor:
    """The median of each channel over all examples, frames and cells: uint8 `[B, K, C, H, W]` to `[C]`.

    By counting instead of sorting, because there are only 256 values.
    """
    values = observation.transpose(0, 2).flatten(1)
    counts = torch.zeros(len(values), 256, dtype=torch.int32, device=values.device)
    counts.scatter_add_(1, values.long(), counts.new_ones(()).expand(values.shape))
    reaches_half = counts.cumsum(1) > (values.shape[1] - 1) // 2
    return reaches_half.to(torch.uint8).argmax(1).to(observation.dtype)


def paint_over(observation: Tensor, keep: Tensor) -> Tensor:
    """Replace cells by the median colour, all channels of a cell at once.

    Args:
        observation: uint8 `[B, K, C, H, W]`.
        keep: bool `[B, K, H, W]`, False where a cell is replaced.
    """
    background = median_colour(observation)[:, None, None]
    return torch.where(keep.unsqueeze(2), observation, background)


def add_pixel_noise(observation: Tensor, probability: float) -> Tensor:
    """Replace each cell of each frame with the given probability, sampled from torch's global generator."""
    batch, frames, _, height, width = observation.shape
    keep = torch.rand((batch, frames, height, width), device=observation.device) >= probability
    return paint_over(observation, keep)
