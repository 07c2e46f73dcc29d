"""What appeared in the game though the model did not predict it, to be repeated in dreams.

A model that predicts the most likely frame never dreams of an object that appears at a random place: each single place
is unlikely. Sampling every cell on its own makes up objects that fit nothing. So whole surprises are repeated: at each
step a dream picks one of the last real transitions, whatever it was, and shows the objects that had appeared there
unpredicted, if any. They are then as frequent in dreams as in the game, and what appears together stays together.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CAPACITY = 4096
"""Real transitions remembered, the newest ones: about one collection of the grid presets."""

MAX_CELLS = 4
"""Cells of one surprise. A larger one is more likely a wrong prediction than an object."""


class Surprises(nn.Module):
    """The newest real transitions' surprises, as cells.

    Args:
        channels: channels C of one frame.
        frame_size: rows and columns.
    """

    cells: Tensor
    """int16 `[CAPACITY, MAX_CELLS]`: places in a flat frame; `num_places` for none."""
    num_seen: Tensor
    """int64 scalar: transitions observed so far."""

    def __init__(self, channels: int, frame_size: tuple[int, int]) -> None:
        super().__init__()
        self.num_places = channels * frame_size[0] * frame_size[1]
        self.register_buffer("cells", torch.full((CAPACITY, MAX_CELLS), self.num_places, dtype=torch.int16))
        self.register_buffer("num_seen", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def observe(self, predicted: Tensor, happened: Tensor, is_last: Tensor) -> None:
        """Remember the surprises of real transitions, in place of the oldest ones.

        A step in which an object that was predicted is missing is a wrong prediction, not a surprise.

        Args:
            predicted: uint8 `[B, C, H, W]`, the most likely frame.
            happened: uint8 `[B, C, H, W]`, the game's.
            is_last: bool `[B]`: the game ended, which is not repeated.
        """
        appeared = ((happened == 1) & (predicted == 0)).flatten(1)
        is_missing = ((happened == 0) & (predicted == 1)).flatten(1).any(1)
        count = appeared.sum(1)
        is_surprise = (count > 0) & (count <= MAX_CELLS) & ~is_missing & ~is_last
        _, places = appeared.to(torch.uint8).topk(MAX_CELLS, dim=1)
        is_cell = (torch.arange(MAX_CELLS, device=count.device) < count.unsqueeze(1)) & is_surprise.unsqueeze(1)
        places = torch.where(is_cell, places, self.num_places).to(torch.int16)
        rows = (self.num_seen + torch.arange(len(places), device=places.device)) % CAPACITY
        self.cells[rows] = places
        self.num_seen += len(places)

    def sample(self, batch_size: int, generator: torch.Generator | None) -> Tensor:
        """The surprise of each dream at one step, int64 `[B]`: rows of `cells`, uniform over what was observed."""
        share = torch.rand(batch_size, generator=generator, device=self.cells.device, dtype=torch.float64)
        return (share * self.num_seen.clamp(1, CAPACITY)).long()

    def show(self, frame: Tensor, row: Tensor) -> Tensor:
        """Frames with surprises in them.

        Args:
            frame: uint8 `[B, C, H, W]`.
            row: int64 `[B]`, from `sample`.
        """
        # One more place takes the cells that are none.
        shown = F.pad(frame.flatten(1), (0, 1)).scatter_(1, self.cells[row].long(), 1)
        return shown[:, :-1].reshape(frame.shape)
