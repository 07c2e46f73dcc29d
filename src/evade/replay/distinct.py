"""Sampling in which each distinct frame is equally likely, however often it was seen."""

import math

import torch
from torch import Tensor

FRAMES_AT_ONCE = 256
"""Frames whose keys are computed at a time, which bounds the memory for large frames."""


def frame_keys(frames: Tensor) -> Tensor:
    """A 64-bit hash of each frame, uint8 `[L, C, H, W]` to int64 `[L]`; equal frames have equal keys."""
    # Fixed odd factors: the sum of their multiples, modulo 2^64.
    size, generator = math.prod(frames.shape[1:]), torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, (size,), generator=generator) * 2 + 1
    return torch.cat([(part.flatten(1).long() * factors).sum(1) for part in torch.split(frames, FRAMES_AT_ONCE)])


class DistinctGroups:
    """Places grouped by their keys.

    Args:
        places: int64 `[L]`, what is sampled.
        keys: int64 `[L]`.
    """

    def __init__(self, places: Tensor, keys: Tensor) -> None:
        ordered, order = keys.sort(stable=True)
        self._places = places[order]
        _, self._length = torch.unique_consecutive(ordered, return_counts=True)
        self._first = self._length.cumsum(0) - self._length

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Sample groups uniformly and a place of each, with replacement: int64 `[count]`."""
        group = torch.randint(len(self._first), (count,), generator=generator)
        share = torch.rand(count, generator=generator, dtype=torch.float64)
        return self._places[self._first[group] + (share * self._length[group]).long()]


class DistinctFrames:
    """The distinct frames of a replay that grows: keys and groups, computed when they are first needed."""

    def __init__(self) -> None:
        self._keys = torch.empty(0, dtype=torch.long)
        self._groups: dict[str, tuple[int, DistinctGroups]] = {}

    def group(self, name: str, frames: Tensor, places: Tensor, action: Tensor | None = None) -> DistinctGroups:
        """Places by their frame, or by frame and action; computed once for each number of frames.

        Args:
            name: of these places.
            frames: uint8 `[L, C, H, W]`, all so far.
            places: int64, indices of some of them.
            action: `[L]`, taken at each frame.
        """
        made = self._groups.get(name)
        if made is None or made[0] != len(frames):
            keys = self._find_keys(frames)[places]
            if action is not None:
                keys = keys * 2 + action[places].long() * 2 + 1
            made = self._groups[name] = len(frames), DistinctGroups(places, keys)
        return made[1]

    def _find_keys(self, frames: Tensor) -> Tensor:
        if len(self._keys) < len(frames):
            self._keys = torch.cat([self._keys, frame_keys(frames[len(self._keys) :])])
        return self._keys
