"""How long ago something changed in each channel, and how much is in it: what hidden timers can be read from.

Many games move their objects every few steps by timers that no frame shows. A network that sees enough frames to count
the steps of a slow timer has many weights for them, and generalises worse. The clocks give it the count alone.

A moving object appears in a new cell at every step, so a clock of what appears does not tell when it was shot. Clocks
of births and deaths do: an object is born where none of its channel was within one cell before.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.world_models.conversion import as_float

HIGHEST_COUNT = 24
"""Counts of one channel's objects are cut off here. The invaders of one wave are 24."""

WIDEST = 53
"""Columns of the widest grid with clocks."""

COUNTED_SIZE = 64
"""Units between counts and ages and the vector: how long a timer takes may depend on a count."""


def count_ages(observation: Tensor, sees_births: bool = False) -> Tensor:
    """How many steps ago an object last appeared in each channel, and then last vanished: int64 `[B, 2 * C]`.

    The highest age, K - 1, means that nothing did in the K frames.

    Args:
        observation: uint8 `[B, K, C, H, W]` of 0 and 1, oldest frame first.
        sees_births: then the same of births and of deaths, int64 `[B, 4 * C]` in all.
    """
    num_frames = observation.shape[1]
    happened = _find_changes(_pack_rows(observation), sees_births)
    steps = torch.arange(1, num_frames, device=observation.device)
    last: Tensor = (happened * steps[:, None]).amax(1)
    return num_frames - 1 - last


def advance_ages(ages: Tensor, before: Tensor, after: Tensor, num_frames: int) -> Tensor:
    """The ages one step later.

    Args:
        ages: from `count_ages`, at the frame `before`.
        before: uint8 `[B, C, H, W]`.
        after: uint8 `[B, C, H, W]`, the next frame.
        num_frames: K; ages stop at K - 1.
    """
    sees_births = ages.shape[1] == 4 * before.shape[1]
    rows = torch.stack([_pack_rows(before), _pack_rows(after)], 1)
    happened = _find_changes(rows, sees_births).squeeze(1)
    return (ages + 1).clamp_max(num_frames - 1) * (1 - happened.long())


def _pack_rows(frames: Tensor) -> Tensor:
    """Each row of cells as the bits of a number, uint8 `[..., H, W]` of 0 and 1 to int64 `[..., H]`."""
    # A product of floats is the fastest sum of few; float64 is exact up to `WIDEST`.
    powers = 2.0 ** torch.arange(frames.shape[-1], device=frames.device, dtype=torch.float64)
    return (as_float(frames).double() @ powers).long()


def _find_changes(rows: Tensor, sees_births: bool) -> Tensor:
    """Whether an object appeared in each channel, and then vanished; with births, also was born, and died.

    Args:
        rows: of K frames, packed, int64 `[B, K, C, H]`.
        sees_births: whether there are four kinds of changes or two.

    Returns:
        bool `[B, K - 1, kinds * C]`.
    """
    before, after = rows[:, :-1], rows[:, 1:]
    kinds = [after & ~before, before & ~after]
    if sees_births:
        far = ~_spread(rows)
        kinds += [after & far[:, :-1], before & far[:, 1:]]
    return torch.cat([(kind != 0).any(-1) for kind in kinds], -1)


def _spread(rows: Tensor) -> Tensor:
    """Packed rows of the cells that are within one cell of an object."""
    padded = F.pad(rows | (rows << 1) | (rows >> 1), (1, 1))
    return padded[..., :-2] | padded[..., 1:-1] | padded[..., 2:]


class Clocks(nn.Module):
    """The ages of changes as one vector, to be added to every cell.

    Args:
        num_frames: frames K in an observation.
        channels: channels C of one frame.
        size: of the vector.
        counts: also births and deaths, and how many objects each channel shows.
    """

    def __init__(self, num_frames: int, channels: int, size: int, *, counts: bool = False) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.counted: nn.Linear | None = None
        inputs = num_frames * 2 * channels
        if counts:
            self.counted = nn.Linear(2 * inputs + (HIGHEST_COUNT + 1) * channels, COUNTED_SIZE)
            inputs = COUNTED_SIZE
        self.embedding = nn.Linear(inputs, size, bias=False)
        nn.init.zeros_(self.embedding.weight)

    def count_ages(self, observation: Tensor) -> Tensor:
        """The ages that `forward` takes."""
        return count_ages(observation, self.counted is not None)

    def forward(self, ages: Tensor, last_frame: Tensor, is_single: Tensor | None) -> Tensor:
        """The vector, `[B, size]`.

        Args:
            ages: int64 `[B, 2 * C]`, with counts `[B, 4 * C]`.
            last_frame: uint8 `[B, C, H, W]`.
            is_single: bool `[C]`: channels that show one object in every frame. It may jump, but is not born. None
                without counts.
        """
        dtype = self.embedding.weight.dtype
        if is_single is not None:
            never = torch.zeros_like(is_single)
            ages = ages.masked_fill(torch.cat([never, never, is_single, is_single]), self.num_frames - 1)
        inputs = F.one_hot(ages, self.num_frames).flatten(1).to(dtype)
        if self.counted is not None:
            count = as_float(last_frame).sum((2, 3)).clamp_max(HIGHEST_COUNT).long()
            inputs = torch.cat([inputs, F.one_hot(count, HIGHEST_COUNT + 1).flatten(1).to(dtype)], 1)
            inputs = F.relu(self.counted(inputs))
        vector: Tensor = self.embedding(inputs)
        return vector
