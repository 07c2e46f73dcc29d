"""Where the objects of a frame go when chance decides: each to one place.

A network gives a probability to each cell. If an object may go to three cells, these are its probabilities of being in
each of them, and they exclude each other: sampled one by one they would show it twice, or not at all. A row of objects
that take a step together is the other way round: all of its cells change, or none. Both come right if one random number
decides for a frame, and the changes that exclude each other take up different parts of the numbers from 0 to 1.

So each cell belongs to the nearest object of its channel that is within one cell. Of the cells of one object the most
likely is its main place. The others take their probabilities one after another, from 0 on; the main place takes its own
from 1 downwards, and what is between them is the object's end. Whatever changes in a step thus happens for small
numbers, in all objects at once. Cells that are certain are shown in any case: in a row that takes a step, the cell of
one object is the next one's place.

Batches show rare changes more often than the game does (`replay.changes_share`), and where a network is unsure it
expects them too often by the same factor. So the odds that a channel shows one object more, or one less, are divided by
it, unless they are certain.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

OFFSETS = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""Rows and columns from an object to its cells, the nearest first."""


class Moves(NamedTuple):
    """What decides where the objects go."""

    probability: Tensor
    """`[B, C, H, W]`, of each cell of the next frame being on."""
    share: Tensor
    """`[B]`, uniform between 0 and 1."""
    excess: Tensor
    """`[2, C]`, by how much the log-odds of one object more are too high, and those of one less."""


def correct(probability: Tensor, factor: Tensor) -> Tensor:
    """Probabilities whose odds are divided by a factor."""
    return probability / (probability + (1 - probability) * factor)


def move_objects(moves: Moves, last_frame: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Which cells show an object of the last frame, and which cells belong to one: both bool `[B, C, H, W]`.

    Args:
        moves: what decides.
        last_frame: uint8 `[B, C, H, W]` of 0 and 1.
        least: places less likely than this are the main place's; so is an end that is less likely. What is more likely
            than one minus this is certain, and not corrected.
    """
    probability, share, excess = moves
    had_object, share = last_frame > 0, share.view(1, -1, 1, 1, 1)
    more, fewer = excess.exp().view(2, 1, -1, 1, 1)
    is_owned = torch.zeros_like(had_object)
    of_cells = []
    for row, column in OFFSETS:
        owned_now = _shift(had_object, row, column) & ~is_owned
        is_owned = is_owned | owned_now
        of_cells.append(_shift(probability * owned_now, -row, -column) * had_object)
    # For each object, at its place, the probabilities of its cells: [9, B, C, H, W].
    likely = torch.stack(of_cells)
    is_main = torch.zeros_like(likely, dtype=torch.bool).scatter_(0, likely.argmax(0, keepdim=True), value=True)
    is_certain = ~is_main & (likely >= 1 - least)
    kept = total = likely.amax(0)
    # One after another, as the compiled loop adds them.
    for each in likely.masked_fill(is_main, 0.0):
        total = total + each
        kept = kept + each.masked_fill(each >= least, 0.0)
    # Beside an object that stays for certain, other places are one more.
    others = torch.where(kept >= 1 - least, correct(likely, more), likely)
    others = others.masked_fill(is_main | is_certain | (likely < least) | (others < least), 0.0)
    begin, begins = torch.zeros_like(total), []
    for each in others:
        begins.append(begin)
        begin = begin + each
    ended, first = (1 - kept - begin).clamp_min(0.0), torch.stack(begins)
    kept = torch.where(ended < 1 - least, kept + (ended - correct(ended, fewer)), kept)
    missing = 1 - kept
    stays = is_main & (total >= least) & ((missing < least) | (share >= torch.maximum(missing, begin)))
    goes = (others > 0) & (first <= share) & (share < first + others)
    shown = torch.zeros_like(had_object)
    for place, (row, column) in zip((stays | goes | is_certain) & had_object, OFFSETS, strict=True):
        shown = shown | _shift(place, row, column)
    return shown, is_owned


def _shift(x: Tensor, rows: int, columns: int) -> Tensor:
    """`x` moved down and to the right, with zeros where nothing came from."""
    padded = F.pad(x.to(torch.float32) if x.dtype == torch.bool else x, (1, 1, 1, 1))
    height, width = x.shape[2:]
    moved = padded[:, :, 1 - rows : 1 - rows + height, 1 - columns : 1 - columns + width]
    return moved > 0 if x.dtype == torch.bool else moved
