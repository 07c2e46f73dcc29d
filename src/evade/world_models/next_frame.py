"""The next frame that a dream shows: the likeliest value of each cell, or of each object."""

import torch
from torch import Tensor, nn

from evade.world_models.frame_logits import as_cells, cells_per_piece, cut_into_pieces, score_cells

ARGMAX_BLOCK = 32
"""Of 8, 16, 32 and 64, the size at which finding the highest of 256 scores took least: 9 ms for 50,400 pixels on one
core, against 16 ms for torch's argmax."""

OBJECT_LOG_ODDS = -3.9
"""Of a probability of one fiftieth. In dreams of going up from the bottom of MinAtar's Freeway, the chicken was still
there after 30 steps in 30 % without the rule, in 73, 97 and 98 % with it from 5, 2 and 1 % on."""


def predict_pixels(features: Tensor, head: nn.Linear, num_channels: int) -> Tensor:
    """The likeliest frame, uint8 `[B, C, H, W]`, of features `[B, D, H, W]`; of equal scores the lowest value wins."""
    cells = as_cells(features)
    # A compiler reads the scores once whatever their number, and would write the code of each piece on its own.
    pieces = [slice(None)] if torch.compiler.is_compiling() else cut_into_pieces(cells, cells_per_piece(head.weight))
    with torch.autocast(features.device.type, enabled=False):
        weight = head.weight.to(cells.dtype)
        parts = [likeliest(score_cells(cells[part], weight, head.bias, num_channels)) for part in pieces]
    batch, _, height, width = features.shape
    return torch.cat(parts).view(batch, height, width, num_channels).permute(0, 3, 1, 2)


def predict_objects(features: Tensor, head: nn.Linear, last_frame: Tensor, is_single: Tensor) -> Tensor:
    """`predict_pixels` for cells that are on or off, but a thing whose next place is uncertain does not vanish.

    Where an object may be in one of three cells, none of them may reach one half, and cell by cell the likeliest
    frame has no object at all, although that is the least likely of all. So where a channel showed something, its
    likeliest cell is on if its log-odds are above `OBJECT_LOG_ODDS`, however many are more likely off than on. A
    channel that always shows one object shows its likeliest cell and no other: nothing doubles there either.

    Args:
        features: `[B, D, H, W]`.
        head: from D to C * 2 scores for each cell.
        last_frame: uint8 `[B, C, H, W]`.
        is_single: bool `[C]`, the channels that always show one object.
    """
    batch, num_channels, height, width = last_frame.shape
    with torch.autocast(features.device.type, enabled=False):
        cells = as_cells(features)
        scores = score_cells(cells, head.weight.to(cells.dtype), head.bias, num_channels)
    odds = (scores[..., 1] - scores[..., 0]).view(batch, height * width, num_channels)
    highest = odds.amax(1, keepdim=True)
    had_object = (last_frame.flatten(2).amax(2) > 0).unsqueeze(1)
    keeps_one = is_single | ((highest > OBJECT_LOG_ODDS) & had_object)
    is_on = ((odds > 0) & ~is_single) | ((odds == highest) & keeps_one)
    return is_on.to(torch.uint8).view(batch, height, width, num_channels).permute(0, 3, 1, 2)


def likeliest(scores: Tensor) -> Tensor:
    """The index of the highest of V scores, the lowest of equal ones: `[..., V]` to uint8 `[...]`.

    Argmax goes score by score, but the maximum does not: first the block of 32 that holds it is found, then the place
    in the block.
    """
    num_blocks, rest = divmod(scores.shape[-1], ARGMAX_BLOCK)
    if scores.shape[-1] == 2:
        return (scores[..., 1] > scores[..., 0]).to(torch.uint8)
    if rest or num_blocks == 1 or torch.compiler.is_compiling():
        return scores.argmax(-1).to(torch.uint8)
    blocks = scores.reshape(-1, num_blocks, ARGMAX_BLOCK)
    block = blocks.amax(-1).argmax(-1)
    within = blocks[torch.arange(len(blocks), device=scores.device), block].argmax(-1)
    return (block * ARGMAX_BLOCK + within).to(torch.uint8).view(scores.shape[:-1])
