"""A posterior of the bits for grids of objects: what appears and what vanishes, wherever it is."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.world_models.bits_settings import BitsConfig

PLACE_SCALE = 0.5
"""Standard deviation of the initial weights of places: without differences between them no bit could say where."""


class ChangePosterior(nn.Module):
    """Infers the bits' logits from a frame and the frame that followed; used for fitting alone.

    T2T SimPLe's posterior (`bits.BitPosterior`) sees maps of a quarter of the rows and columns, and their means: an
    object that appears in one cell of a hundred hardly moves them. Here every cell is seen, a change is an input of its
    own, each cell has learned weights that tell places apart, and maxima find the one cell where something happened.

    Args:
        channels: channels C of one frame.
        frame_size: rows H and columns W.
        config: number of bits and sizes.
    """

    def __init__(self, channels: int, frame_size: tuple[int, int], config: BitsConfig) -> None:
        super().__init__()
        first, second = config.posterior_filters
        self.changes = nn.Conv2d(4 * channels, first, 3, padding=1)
        self.place = nn.Parameter(PLACE_SCALE * torch.randn(1, first, *frame_size))
        self.mix = nn.Conv2d(first, second, 1)
        self.head = nn.Linear(2 * second, config.count)

    def forward(self, frame: Tensor, next_frame: Tensor, action: Tensor) -> Tensor:
        """Logits `[B, n]` of the bits: each is 1 where its logit is positive.

        Args:
            frame: `[B, C, H, W]` of 0 and 1.
            next_frame: `[B, C, H, W]` of 0 and 1.
            action: not used; what chance decides is in the frames.
        """
        seen = torch.cat([frame, next_frame, next_frame * (1 - frame), frame * (1 - next_frame)], 1)
        x = F.relu(self.changes(seen)) * (1 + self.place)
        x = F.relu(self.mix(x))
        logits: Tensor = self.head(torch.cat([x.amax((2, 3)), x.mean((2, 3))], 1))
        return logits.float()
