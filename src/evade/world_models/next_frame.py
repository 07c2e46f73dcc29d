"""The next frame of a dream: the most likely value of each cell, or the most likely place of each object."""

import math

import torch
from torch import Tensor, nn

from evade.world_models.conversion import as_bytes, as_float
from evade.world_models.frame_logits import as_cells, cells_per_chunk, compute_logits, split_into_chunks
from evade.world_models.object_choice import can_choose, choose_objects
from evade.world_models.object_moves import Moves, move_objects

ARGMAX_BLOCK = 32
"""The fastest of 8, 16, 32 and 64 for the argmax of 256 logits: 9 ms for 50,400 pixels on one core, against 16 ms for
`torch.argmax`."""

OBJECT_LOG_ODDS = -3.9
"""Log-odds of probability 1/50. In dreams of going up from the bottom of MinAtar's Freeway, the chicken was still
there after 30 steps in 30 % without the rule, in 73, 97 and 98 % with thresholds of 5, 2 and 1 %."""


def predict_pixels(features: Tensor, head: nn.Linear, num_channels: int) -> Tensor:
    """The most likely frame, uint8 `[B, C, H, W]`; of equal logits the lowest value wins.

    Args:
        features: `[B, D, H, W]`.
        head: from D to C * V logits for each cell.
        num_channels: C.
    """
    cells = as_cells(features)
    # Compiled code reads the logits only once anyway, and the loop over chunks would be unrolled.
    chunks = [slice(None)] if torch.compiler.is_compiling() else split_into_chunks(cells, cells_per_chunk(head.weight))
    with torch.autocast(features.device.type, enabled=False):
        weight = head.weight.to(cells.dtype)
        values = [fast_argmax(compute_logits(cells[chunk], weight, head.bias, num_channels)) for chunk in chunks]
    batch, _, height, width = features.shape
    return torch.cat(values).view(batch, height, width, num_channels).permute(0, 3, 1, 2)


LEAST_FLIP = 0.1
"""Probability below which a cell is never flipped. Many unlikely cells, such as the places where an object may appear,
exclude each other, and a flip would show them all at once."""

LEAST_FLIP_LOG_ODDS = math.log((1 - LEAST_FLIP) / LEAST_FLIP)
"""Cells whose log-odds are at least this large, in size, are never flipped."""


def predict_objects(
    log_odds: Tensor,
    last_frame: Tensor,
    one_object: Tensor,
    share: Tensor | None = None,
    change_excess: Tensor | None = None,
) -> Tensor:
    """`predict_pixels` for binary cells, except that an object whose next place is uncertain does not vanish.

    If an object may move to one of three cells, all three may have a probability below one half, and the most likely
    value of every cell is then "off": a frame without the object, which is itself very unlikely. So in a channel that
    was not empty, the most likely cell is on if its log-odds are above `OBJECT_LOG_ODDS`. In channels that
    together always show one object, the most likely cell is on and all others are off: the object does not double.

    With `share`, other cells may take the less likely of their two values. One random number decides for all cells of a
    frame, so that cells that change together (a row of invaders that takes a step) change in the same dreams; each of
    them changes with its own probability, if that is above `LEAST_FLIP`.

    Args:
        log_odds: `[B, C, H, W]`, of each value of the next frame being 1.
        last_frame: uint8 `[B, C, H, W]`.
        one_object: bool `[C, C]`, for each channel those that together with it always show one object (`Statistics`).
        share: `[B]`, uniform between 0 and 1; None for the most likely frame.
        change_excess: `[2, C]`, the log-odds by which more objects, and fewer, are predicted too often (`Statistics`).
            With it and `share`, each object of the last frame goes to one of the cells around it (`object_moves.py`).

    Returns:
        uint8 `[B, C, H, W]`.
    """
    flip = None if share is None else (torch.log1p(-share) - torch.log(share)).clamp_max(LEAST_FLIP_LOG_ODDS)
    moves = None
    if share is not None and change_excess is not None:
        moves = Moves(torch.sigmoid(log_odds), share, change_excess)
    if not can_choose(log_odds, last_frame):
        return _choose_by_tensors(log_odds, last_frame, one_object, flip, moves)
    numbers: tuple[Tensor | None, ...] = (None, None, None)
    if moves is not None:
        numbers = moves.probability, moves.share, torch.cat([moves.excess[:1], moves.excess.exp()])
    limits = OBJECT_LOG_ODDS, LEAST_FLIP_LOG_ODDS, LEAST_FLIP
    chosen: Tensor = choose_objects(log_odds, last_frame, one_object, flip, *numbers, limits)
    return chosen


def _choose_by_tensors(
    log_odds: Tensor, last_frame: Tensor, one_object: Tensor, flip: Tensor | None, moves: Moves | None
) -> Tensor:
    """What `choose_objects` does, on any device: uint8 `[B, C, H, W]`; arguments as there."""
    is_single = one_object.diagonal()[:, None, None]
    highest = log_odds.amax((2, 3), keepdim=True)
    highest_of_group = torch.where(one_object, highest[:, :, 0].mT, -torch.inf).amax(2)[:, :, None, None]
    if moves is None:
        had_object = as_float(last_frame).amax((2, 3), keepdim=True) > 0
        is_on = _flip(log_odds, flip) | ((log_odds == highest) & (highest > OBJECT_LOG_ODDS) & had_object)
    else:
        shown, is_owned = move_objects(moves, last_frame, LEAST_FLIP)
        rarer = log_odds - moves.excess[0, :, None, None]
        is_on = torch.where(is_owned, shown, _flip(torch.where(log_odds < LEAST_FLIP_LOG_ODDS, rarer, log_odds), flip))
    return as_bytes(torch.where(is_single, log_odds == highest_of_group, is_on).float())


def _flip(log_odds: Tensor, flip: Tensor | None) -> Tensor:
    """The likely value of each cell; those of log-odds below `flip` in size take the other one."""
    is_on = log_odds > 0
    return is_on if flip is None else is_on ^ (log_odds.abs() < flip[:, None, None, None])


def fast_argmax(logits: Tensor) -> Tensor:
    """The argmax over the last axis, lowest index of equal ones: `[..., V]` to uint8 `[...]`, V at most 256.

    `torch.argmax` is not vectorised on CPUs but `amax` is: so find the block of 32 that holds the maximum first, then
    the place in that block.
    """
    num_blocks, rest = divmod(logits.shape[-1], ARGMAX_BLOCK)
    if logits.shape[-1] == 2:
        return (logits[..., 1] > logits[..., 0]).to(torch.uint8)
    if rest or num_blocks == 1 or torch.compiler.is_compiling():
        return logits.argmax(-1).to(torch.uint8)
    blocks = logits.reshape(-1, num_blocks, ARGMAX_BLOCK)
    block = blocks.amax(-1).argmax(-1)
    within = blocks[torch.arange(len(blocks), device=logits.device), block].argmax(-1)
    return (block * ARGMAX_BLOCK + within).to(torch.uint8).view(logits.shape[:-1])
