"""How long ago something changed in each channel, and how much is in it: what hidden timers can be read from.

Many games move their objects every few steps by timers that no frame shows. A network that sees enough frames to count
the steps of a slow timer has many weights for them, and generalises worse. The clocks give it the count alone.

A moving object appears in a new cell at every step, so a clock of what appears does not tell when it was shot. Clocks
of births and deaths do (`ages.py`).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.world_models.ages import count_ages
from evade.world_models.conversion import as_float

HIGHEST_COUNT = 24
"""Counts of one channel's objects are cut off here. The invaders of one wave are 24."""

COUNTED_SIZE = 64
"""Units between counts and ages and the vector: how long a timer takes may depend on a count."""


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
