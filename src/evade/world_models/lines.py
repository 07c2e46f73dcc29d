"""What lies in the same row and in the same column: relations of distant cells that a U-net learns late or never.

The nearest invader shoots at the cannon far below it, and a car that leaves the road on one side comes back on the
other.
"""

import torch
from torch import Tensor, nn

from evade.world_models.conversion import as_float


class Lines(nn.Module):
    """Which channels have an object in each row and in each column, as a map to be added to the first one.

    Args:
        channels: channels C of one frame.
        size: channels of the map.
    """

    def __init__(self, channels: int, size: int) -> None:
        super().__init__()
        self.rows = nn.Linear(channels, size, bias=False)
        self.columns = nn.Linear(channels, size, bias=False)
        for layer in (self.rows, self.columns):
            nn.init.zeros_(layer.weight)

    def forward(self, frame: Tensor) -> Tensor:
        """The map, `[B, size, H, W]`, of frames uint8 `[B, C, H, W]` of 0 and 1."""
        cells = as_float(frame).to(self.rows.weight.dtype)
        rows, columns = (torch.amax(cells, axis).transpose(1, 2) for axis in (3, 2))
        summed: Tensor = self.rows(rows).unsqueeze(2) + self.columns(columns).unsqueeze(1)
        return summed.permute(0, 3, 1, 2)
