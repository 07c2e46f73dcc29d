"""Where events happened: rewards, ends and changes, each of which is sampled equally often, however rare it is.

A reward seen once would hardly ever be sampled among thousands of ends, and a door that opened 25 times in a hundred
thousand steps hardly ever at all (docs/decisions/0020-rare-changes.md).
"""

from collections.abc import Hashable, Mapping
from typing import Self

import torch
from torch import Tensor


def sort_outcomes(reward: Tensor, terminated: Tensor) -> dict[Hashable, Tensor]:
    """Which transitions have a reward, by its value, or an end without one (None); bool `[N]` each.

    Args:
        reward: `[N, T]`, of the T steps of each transition.
        terminated: bool `[N, T]`.
    """
    found: dict[Hashable, Tensor] = {
        value: (reward == value).any(1) for value in sorted({*reward.flatten().tolist()} - {0})
    }
    return found | {None: terminated.any(1) & (reward == 0).all(1)}


def sort_changes(frames: Tensor) -> dict[Hashable, Tensor]:
    """In which transitions a channel gets more objects or fewer, by channel and sign; bool `[N]` each.

    Args:
        frames: uint8 `[N, T + 1, C, H, W]` of 0 and 1.
    """
    change = frames.flatten(3).sum(3, dtype=torch.int32).diff(dim=1)
    return {
        (channel, sign): (change[:, :, channel] * sign > 0).any(1)
        for channel in range(change.shape[2])
        for sign in (1, -1)
    }


class EventIndex:
    """From events to the transitions in which they happened; several may happen in one transition, or none."""

    def __init__(self) -> None:
        self._windows: dict[Hashable, Tensor] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def add(self, windows: Tensor, found: Mapping[Hashable, Tensor]) -> None:
        """Add transitions.

        Args:
            windows: int64 `[N]`.
            found: in which of them each event happened, bool `[N]`.
        """
        for event, happened in found.items():
            if happened.any():
                known = self._windows.get(event, torch.empty(0, dtype=torch.long))
                self._windows[event] = torch.cat([known, windows[happened]])

    def rarer_than(self, count: float) -> Self:
        """The events with fewer transitions than this."""
        rare = type(self)()
        rare._windows = {event: windows for event, windows in self._windows.items() if len(windows) < count}
        return rare

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Sample events uniformly and a transition of each, with replacement: int64 `[count]`. There must be some."""
        event = torch.randint(len(self._windows), (count,), generator=generator)
        share = torch.rand(count, generator=generator, dtype=torch.float64)
        at = torch.empty(count, dtype=torch.long)
        for number, windows in enumerate(self._windows.values()):
            at = torch.where(event == number, windows[(share * len(windows)).long()], at)
        return at

    def mask(self, event: Hashable, windows: Tensor) -> Tensor:
        """In which of some transitions, int64 `[N]`, an event happened: bool `[N]`."""
        return torch.isin(windows, self._windows.get(event, torch.empty(0, dtype=torch.long)))

    def masks(self, windows: Tensor) -> list[Tensor]:
        """In which of some transitions, int64 `[N]`, each event happened: bool `[N]` each."""
        return [self.mask(event, windows) for event in self._windows]
