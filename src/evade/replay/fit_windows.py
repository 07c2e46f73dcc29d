"""The transitions that a world model may be fitted to, and which of them a batch takes."""

from collections.abc import Callable, Hashable, Mapping

import torch
from torch import Tensor

from evade.replay.distinct import DistinctGroups
from evade.replay.events import EventIndex
from evade.replay.settings import ReplayConfig


class FitWindows:
    """The frames at which transitions to fit begin, and the events that happened in them.

    Args:
        config: of which transitions a batch consists.
    """

    places: Tensor
    """int64 `[windows]`, indices of frames."""

    def __init__(self, config: ReplayConfig) -> None:
        self.config = config
        self.places = torch.empty(0, dtype=torch.long)
        self._outcomes, self._changes = EventIndex(), EventIndex()

    def add(
        self,
        places: Tensor,
        outcomes: Mapping[Hashable, Tensor],
        changes: Mapping[Hashable, Tensor],
        eventful: Tensor | None = None,
    ) -> None:
        """Add transitions.

        Args:
            places: int64 `[N]`, where they begin.
            outcomes: from `sort_outcomes`.
            changes: from `sort_changes`; empty if rare changes are not sampled.
            eventful: int64, the places that `outcomes` speaks of; `places` if None.
        """
        self.places = torch.cat([self.places, places])
        self._outcomes.add(places if eventful is None else eventful, outcomes)
        self._changes.add(places, changes)

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Sample uniformly, with replacement: int64 `[count]`."""
        return self.places[torch.randint(len(self.places), (count,), generator=generator)]

    def sample_batch(self, generator: torch.Generator, group: Callable[[], DistinctGroups]) -> Tensor:
        """Sample where the transitions of a batch begin, int64 `[batch_size]`.

        First come eventful transitions (`eventful_share`), in which each reward, and an end without one, is equally
        likely; then rare changes (up to `changes_share`), each equally likely. In the last `distinct_share` each
        distinct frame and action is equally likely. The others are uniform.

        Args:
            generator: on the CPU.
            group: groups `places` by frame and action; called if it is needed.
        """
        at = self.sample(self.config.batch_size, generator)
        begin = 0
        for count, events in self._eventful_parts():
            at[begin : begin + count] = events.sample(count, generator)
            begin += count
        num_distinct = round(self.config.batch_size * self.config.distinct_share)
        if num_distinct:
            at[-num_distinct:] = group().sample(num_distinct, generator)
        return at

    def eventful_parts(self) -> list[tuple[float, list[Tensor]]]:
        """The parts of a batch that are not uniform: their share, and where each of their events happened.

        Returns:
            For each part its share and one mask, bool `[windows]`, for each event.
        """
        size = self.config.batch_size
        return [(count / size, events.masks(self.places)) for count, events in self._eventful_parts()]

    def find_changes(self, change: Hashable) -> Tensor:
        """In which transitions a change of `sort_changes` happened, bool `[windows]`."""
        return self._changes.mask(change, self.places)

    def _eventful_parts(self) -> list[tuple[int, EventIndex]]:
        size = self.config.batch_size
        num_outcomes = round(size * self.config.eventful_share) if self._outcomes else 0
        rare = self._changes.rarer_than(len(self.places) / size)
        num_changes = min(round(size * self.config.changes_share), len(rare))
        return [part for part in ((num_outcomes, self._outcomes), (num_changes, rare)) if part[0]]
