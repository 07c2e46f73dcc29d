"""How long ago something changed in each channel: what games' hidden timers can be read from.

Many games move their objects every few steps by timers that no frame shows. A network that sees enough frames to count
the steps of a slow timer has many weights for them, and generalises worse. The clocks give it the count alone.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.world_models.conversion import as_float


def count_ages(observation: Tensor) -> Tensor:
    """How many steps ago an object last appeared in each channel, and then last vanished: int64 `[B, 2 * C]`.

    The highest age, K - 1, means that nothing did in the K frames.

    Args:
        observation: uint8 `[B, K, C, H, W]` of 0 and 1, oldest frame first.
    """
    num_frames, cells = observation.shape[1], observation.flatten(3)
    before, after = cells[:, :-1], cells[:, 1:]
    changed = before ^ after
    happened = torch.cat([_any(changed & after), _any(changed & before)], 2)
    steps = torch.arange(1, num_frames, device=observation.device)
    last: Tensor = (happened * steps[:, None]).amax(1)
    return num_frames - 1 - last


def _any(cells: Tensor) -> Tensor:
    """Whether one of the last axis is not 0: bytes of 0 and 1 `[..., cells]` to bool `[...]`."""
    # Four bytes at a time where they can be grouped; the maximum takes half of the time of `any`.
    grouped = cells.contiguous().view(torch.int32) if cells.shape[-1] % 4 == 0 else cells
    return grouped.amax(-1) > 0


def advance_ages(ages: Tensor, before: Tensor, after: Tensor, num_frames: int) -> Tensor:
    """The ages one step later.

    Args:
        ages: int64 `[B, 2 * C]`, at the frame `before`.
        before: uint8 `[B, C, H, W]`.
        after: uint8 `[B, C, H, W]`, the next frame.
        num_frames: K; ages stop at K - 1.
    """
    before, after = as_float(before).flatten(2), as_float(after).flatten(2)
    happened = torch.cat([(after * (1 - before)).amax(2), (before * (1 - after)).amax(2)], 1)
    return (ages + 1).clamp_max(num_frames - 1) * (1 - happened.long())


class Clocks(nn.Module):
    """The ages of changes as one vector, to be added to every cell.

    Args:
        num_frames: frames K in an observation.
        channels: channels C of one frame.
        size: of the vector.
    """

    def __init__(self, num_frames: int, channels: int, size: int) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.embedding = nn.Linear(num_frames * 2 * channels, size, bias=False)
        nn.init.zeros_(self.embedding.weight)

    def forward(self, ages: Tensor) -> Tensor:
        """Int64 `[B, 2 * C]` to `[B, size]`."""
        vector: Tensor = self.embedding(F.one_hot(ages, self.num_frames).flatten(1).to(self.embedding.weight.dtype))
        return vector
