"""Which channels of a grid show one object: the player, a door that is open, closed or locked, a key or who carries it.

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
        """Bool `[C, C]`: row c marks the group of channel c, or nothing if it is in none.

        The channels of a group exclude each other, and one of them is on in every frame. Small groups are preferred,
        and of equal size those of the first channels.
        """
        channels = len(self._num_shown)
        groups = torch.zeros(channels, channels, dtype=torch.bool)
        free = [c for c in range(channels) if self._num_shown[c] > 0 and self._excludes_others[c, c]]
        size = 1
        while size <= len(free):
            group = self._find_group([], free, size, self._num_frames)
            if group is None:
                size += 1
                continue
            free = [c for c in free if c not in group]
            for c in group:
                groups[c, group] = True
        return groups

    def _find_group(self, chosen: list[int], candidates: list[int], size: int, left: int) -> list[int] | None:
        """`chosen` and `size` of the candidates that are shown in the `left` frames without one of `chosen`."""
        if size == 0:
            return chosen if left == 0 else None
        for index, c in enumerate(candidates):
            shown = int(self._num_shown[c])
            if shown <= left:
                others = [d for d in candidates[index + 1 :] if self._excludes_others[c, d]]
                group = self._find_group([*chosen, c], others, size - 1, left - shown)
                if group is not None:
                    return group
        return None
