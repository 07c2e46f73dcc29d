"""Which channels of a grid show one object: the player, a door that is open or closed, a key that lies or is carried.

A channel that shows exactly one object in every frame shows a thing that is always there. Several channels can share
such a thing: each of a player's four directions may have its own channel, and exactly one of them is on.
"""

import torch
from torch import Tensor


class SingleObjects:
    """Counts over all frames so far, from which groups of channels with one object in every frame are found.

    Args:
        channels: C.
    """

    def __init__(self, channels: int) -> None:
        self._num_frames = 0
        self._num_shown = torch.zeros(channels, dtype=torch.long)
        self._excludes_others = torch.ones(channels, channels, dtype=torch.bool)

    def add(self, frames: Tensor) -> None:
        """Count frames of objects that are on (1) or off (0), uint8 `[N, C, H, W]`."""
        counts = frames.flatten(2).sum(2)
        is_shown = (counts > 0).float()
        self._num_frames += len(frames)
        self._num_shown += is_shown.sum(0).long()
        together = is_shown.T @ is_shown > 0
        # A channel that shows two objects at once is in no group.
        together.diagonal().copy_((counts > 1).any(0))
        self._excludes_others &= ~together

    def find_groups(self) -> Tensor:
        """The group of each channel: bool `[C, C]`, row c marks the channels of c's group, or nothing if it is in none.

        The channels of a group exclude each other, and one of them is on in every frame. No channel is in two groups.
        """
        channels = len(self._num_shown)
        groups = torch.zeros(channels, channels, dtype=torch.bool)
        free = [c for c in range(channels) if self._num_shown[c] > 0 and self._excludes_others[c, c]]
        while free:
            first, *rest = free
            left = self._num_frames - int(self._num_shown[first])
            group = self._complete([first], self._compatible(first, rest), left) or []
            for c in group:
                groups[c, group] = True
            free = [c for c in rest if c not in group]
        return groups

    def _complete(self, chosen: list[int], candidates: list[int], left: int) -> list[int] | None:
        """`chosen` and those of the candidates that are shown in the `left` frames without any of `chosen`."""
        if left == 0:
            return chosen
        # Without this test the time grows exponentially with the number of channels that are rarely on.
        if self._num_shown[candidates].sum() < left:
            return None
        first, rest = candidates[0], candidates[1:]
        with_first = self._complete([*chosen, first], self._compatible(first, rest), left - int(self._num_shown[first]))
        return with_first or self._complete(chosen, rest, left)

    def _compatible(self, channel: int, others: list[int]) -> list[int]:
        return [other for other in others if self._excludes_others[channel, other]]
