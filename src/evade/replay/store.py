"""The replay: all real experience, in memory for sampling and on disk as immutable chunks."""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evade.checks import require
from evade.errors import ReplayCorrupt, UnreadableFile
from evade.game_spec import GameSpec
from evade.guarded import read_regular
from evade.records import Segments, Sequences, Statistics, Transitions
from evade.replay.chunk import HEADER, Chunk, check_chunk, decode, encode, largest_chunk
from evade.replay.chunk_record import ChunkRecord, chunk_name, read_records
from evade.replay.distinct import DistinctFrames, DistinctGroups
from evade.replay.events import sort_changes, sort_outcomes
from evade.replay.fit_windows import FitWindows
from evade.replay.oversampling import measure_excess
from evade.replay.settings import ReplayConfig
from evade.replay.single_objects import SingleObjects


class Replay:
    """Append-only store of real experience; samples never cross an episode's boundary.

    Args:
        folder: of the chunks.
        game: gives the shape of frames.
        num_frames: frames K in an observation.
        config: what is held out, and how batches are sampled.
        capacity: frames to reserve memory for; it grows when needed. No more steps than this are read back.
        num_kept: games that go on from one collection to the next, each with a history in the next chunk.
    """

    def __init__(
        self,
        folder: Path,
        game: GameSpec,
        num_frames: int,
        config: ReplayConfig,
        capacity: int,
        num_kept: int = 0,
    ) -> None:
        rule = f"must be 0, because this game's cells have {game.levels} values"
        require(config.changes_share == 0 or game.levels == 2, "replay.changes_share", config.changes_share, rule)
        self.folder, self.num_frames, self.config = folder, num_frames, config
        self._game, self._most_steps, self._num_kept = game, capacity, num_kept
        # Without padding, an episode's first K - 1 frames only occur as history of later ones.
        self._least_position = 0 if config.pads_starts else num_frames - 1
        self.records: list[ChunkRecord] = []
        self.size = 0
        # Reserved at once: pages that are never written cost no memory, and growing would copy gigabytes.
        shape = (capacity, game.channels, game.height, game.width)
        self._frames = torch.empty(shape, dtype=torch.uint8)
        self._rest = Chunk(*(torch.empty(0),) * 6)
        self._first = torch.empty(0, dtype=torch.long)
        self._fitted = FitWindows(config)
        self._held_out = torch.empty(0, dtype=torch.long)
        self._starts: list[Tensor] = []
        self._newest_windows = torch.empty(0, dtype=torch.long)
        self._single_objects = SingleObjects(game.channels)
        self._distinct = DistinctFrames()

    @property
    def num_steps(self) -> int:
        """Agent steps in all chunks."""
        return sum(record.num_steps for record in self.records)

    def add(self, chunk: Chunk, write: Callable[[Path, bytes], None]) -> None:
        """Write a chunk to disk, then make it available for sampling.

        Args:
            chunk: one collection.
            write: writes bytes to a path atomically.
        """
        data = encode(chunk)
        name = chunk_name(len(self.records))
        write(self.folder / name, data)
        self._take(chunk, ChunkRecord(name, hashlib.sha256(data).hexdigest(), chunk.num_steps))

    def saved_tensors(self) -> dict[str, Tensor]:
        """Empty: the experience is in the chunks on disk."""
        return {}

    def saved_values(self) -> list[dict[str, Any]]:
        """The names and hashes of all chunks."""
        return [asdict(record) for record in self.records]

    def restore(self, tensors: Mapping[str, Tensor], values: list[dict[str, Any]]) -> None:
        """Read the listed chunks back. Nothing is removed: a chunk that a crash left is replaced in its turn."""
        self.read(values)

    def read(self, values: list[dict[str, Any]]) -> None:
        """Read the listed chunks and change nothing on disk.

        Args:
            values: what `saved_values` returned.
        """
        for number, record in enumerate(read_records(values)):
            path, expected = self.folder / record.name, chunk_name(number)
            if record.name != expected:
                raise ReplayCorrupt(f"Invalid name {record.name!r:.100} of chunk {number}: must be {expected}.")
            if not 1 <= record.num_steps <= self._most_steps - self.num_steps:
                raise ReplayCorrupt(f"{path} has {record.num_steps:,} steps: the settings allow {self._most_steps:,}.")
            largest = largest_chunk(self._game, record.num_steps, self._num_kept * (self.num_frames - 1))
            try:
                # Compression adds a little where there is nothing to compress.
                data = read_regular(path, largest + HEADER)
            except UnreadableFile as error:
                raise ReplayCorrupt(f"{error} The checkpoint needs it: restore it from a copy.") from None
            chunk = decode(data, str(path), record.sha256, largest)
            check_chunk(chunk, str(path), self._game, record.num_steps, self.num_frames)
            self._take(chunk, record)

    @property
    def fit_windows(self) -> Tensor:
        """The frames at which transitions begin that may be fitted to, int64 `[windows]`."""
        return self._fitted.places

    def restricted_to(self, windows: Tensor, eventful: Tensor) -> Self:
        """The same experience with other transitions to fit to, for experiments; nothing can be added to it.

        Args:
            windows: of `fit_windows`, all that batches are sampled from.
            eventful: those of them that `eventful_share` samples from.
        """
        restricted = copy(self)
        restricted._fitted, restricted._distinct = FitWindows(self.config), DistinctFrames()
        restricted._fitted.add(windows, self._sort_outcomes(eventful), self._sort_changes(windows), eventful)
        return restricted

    def statistics(self) -> Statistics:
        """Properties of all frames collected so far."""
        windows, channels = self.fit_windows, self._game.channels
        classes = torch.arange(self._game.num_reward_classes) + self._game.lowest_reward
        reward, ends = self._rest.reward[windows + 1], self._rest.terminated[windows + 1]
        changes = [self._fitted.find_changes((channel, sign)) for sign in (1, -1) for channel in range(channels)]
        parts = self._fitted.eventful_parts()
        of_rewards, of_ends, of_changes = measure_excess(reward, ends, torch.stack(changes, 1), classes, parts)
        groups = self._single_objects.find_groups()
        return Statistics(groups, of_rewards, of_ends, of_changes.view(2, channels), len(windows))

    def _take(self, chunk: Chunk, record: ChunkRecord) -> None:
        begin, end = self.size, self.size + len(chunk.frame)
        if end > len(self._frames):
            room = torch.empty((max(end, 2 * len(self._frames)), *self._frames.shape[1:]), dtype=torch.uint8)
            room[:begin] = self._frames[:begin]
            self._frames = room
        self._frames[begin:end] = chunk.frame
        if self._game.levels == 2:
            self._single_objects.add(chunk.frame)
        if self.size == 0:
            self._rest = chunk._replace(frame=torch.empty(0))
        else:
            self._rest = Chunk(
                torch.empty(0), *(torch.cat(pair) for pair in zip(self._rest[1:], chunk[1:], strict=True))
            )
        first = chunk.first
        self._first = torch.cat([self._first, begin + first])
        has_past = (chunk.position >= 0) & (torch.arange(len(first)) - first >= self._least_position)
        # A whole window is in one episode if the position of its last frame is that much higher.
        targets = self.config.target_frames
        goes_on = torch.zeros(len(chunk.position), dtype=torch.bool)
        goes_on[:-targets] = chunk.position[targets:] == chunk.position[:-targets] + targets
        windows = begin + (has_past & goes_on).nonzero().flatten()
        num_fitted = len(windows) - round(len(windows) * self.config.holdout)
        fitted = windows[:num_fitted]
        self._newest_windows = fitted
        self._fitted.add(fitted, self._sort_outcomes(fitted), self._sort_changes(fitted))
        self._held_out = torch.cat([self._held_out, windows[num_fitted:]])
        self._starts.append(begin + (has_past & ~chunk.terminated).nonzero().flatten())
        self.records.append(record)
        self.size = end

    def _sort_outcomes(self, windows: Tensor) -> dict[Hashable, Tensor]:
        reached = windows.unsqueeze(1) + torch.arange(1, self.config.target_frames + 1)
        return sort_outcomes(self._rest.reward[reached], self._rest.terminated[reached])

    def _sort_changes(self, windows: Tensor) -> dict[Hashable, Tensor]:
        if not self.config.changes_share:
            return {}
        shown = windows.unsqueeze(1) + torch.arange(self.config.target_frames + 1)
        return sort_changes(self._frames[shown])

    def observations(self, at: Tensor) -> Tensor:
        """The stacked frames that end at each index: int64 `[B]` to uint8 `[B, K, C, H, W]`."""
        stack = at.unsqueeze(1) + torch.arange(1 - self.num_frames, 1)
        return self._frames[torch.maximum(stack, self._first[at].unsqueeze(1))]

    def observation(self, at: int) -> NDArray[np.uint8]:
        """The stacked frames that end at one index, `[K, C, H, W]`."""
        stacked: NDArray[np.uint8] = self.observations(torch.tensor([at]))[0].numpy()
        return stacked

    def transitions(self, count: int, generator: torch.Generator, *, held_out: bool = False) -> Transitions:
        """Sample transitions uniformly, each from a window of K + T consecutive frames of one episode; on the CPU.

        Args:
            count: number of samples, with replacement.
            generator: on the CPU.
            held_out: sample from the held-out share instead.
        """
        windows = self._held_out if held_out else self.fit_windows
        self._require_windows(windows)
        return self.gather(windows[torch.randint(len(windows), (count,), generator=generator)])

    def batch(self, generator: torch.Generator) -> Transitions:
        """A batch to fit, on the CPU; which transitions it takes is said in `FitWindows.sample_batch`."""
        return self.gather(self._sample_batch(generator))

    def _sample_batch(self, generator: torch.Generator) -> Tensor:
        self._require_windows(self.fit_windows)
        return self._fitted.sample_batch(generator, self._group_windows)

    def _group_windows(self) -> DistinctGroups:
        return self._distinct.group("windows", self._frames[: self.size], self.fit_windows, self._rest.action)

    def sequences(self, generator: torch.Generator) -> Sequences:
        """The same batch with the whole window of each transition, K + T frames, on the CPU."""
        at = self._sample_batch(generator).unsqueeze(1)
        frames = at + torch.arange(1 - self.num_frames, self.config.target_frames + 1)
        first = self._first[at]
        before, after = frames[:, :-1], frames[:, 1:].clamp_min(0)
        is_padding = before < first
        return Sequences(
            frame=self._frames[torch.maximum(frames, first)],
            action=self._rest.action[before.clamp_min(0)].long().masked_fill(is_padding, 0),
            reward=self._rest.reward[after].long().masked_fill(is_padding, 0),
            terminated=self._rest.terminated[after] & ~is_padding,
        )

    def actions(self, num_games: int) -> Iterator[Tensor]:
        """The actions of each chunk, uint8 `[T, N]`, if all its N games made the same number of steps."""
        taken = self._rest.action[self._rest.is_step]
        for part in torch.split(taken, [record.num_steps for record in self.records]):
            yield part.view(num_games, -1).T

    def newest_transitions(self, batch_size: int) -> Iterator[Transitions]:
        """The newest chunk's transitions that may be fitted to, each once, in batches; on the CPU."""
        for begin in range(0, len(self._newest_windows), batch_size):
            yield self.gather(self._newest_windows[begin : begin + batch_size])

    def _require_windows(self, windows: Tensor) -> None:
        if len(windows) == 0:
            raise ReplayCorrupt(
                f"No episode so far has {self.num_frames + self.config.target_frames} consecutive frames to fit: "
                f"collect more steps, or use fewer frames (env.num_frames, replay.target_frames)."
            )

    def gather(self, at: Tensor) -> Transitions:
        """The transitions that begin at some frames (of `fit_windows`), int64 `[B]`; on the CPU."""
        return Transitions(
            observation=self.observations(at),
            action=self._rest.action[at].long(),
            next_frame=self._frames[at + 1],
            reward=self._rest.reward[at + 1].long(),
            terminated=self._rest.terminated[at + 1],
        )

    def starts(
        self, count: int, generator: torch.Generator, *, newest: bool, by: Literal["episode", "frame", "distinct"]
    ) -> Tensor:
        """Sample observations to start dreams from, uint8 `[count, K, C, H, W]`; never the end of a game.

        Args:
            count: number of samples, with replacement.
            generator: on the CPU.
            newest: from the newest chunk only.
            by: what is equally likely: each episode, then each of its frames; each frame; or each distinct last frame.
        """
        places = self._starts[-1] if newest else torch.cat(self._starts)
        if len(places) == 0:
            raise ReplayCorrupt(
                f"No episode has {self.num_frames} consecutive frames to start a dream from: collect more steps, or "
                f"stack fewer frames (env.num_frames)."
            )
        if by == "distinct":
            what = "newest starts" if newest else "starts"
            groups = self._distinct.group(what, self._frames[: self.size], places)
            return self.observations(groups.sample(count, generator))
        if by == "frame":
            chosen = torch.randint(len(places), (count,), generator=generator)
        else:
            # An episode's frames are consecutive, so a new one begins wherever the index jumps.
            first = torch.cat([torch.tensor([0]), (places.diff() != 1).nonzero().flatten() + 1])
            length = torch.cat([first[1:], torch.tensor([len(places)])]) - first
            episode = torch.randint(len(first), (count,), generator=generator)
            share = torch.rand(count, generator=generator, dtype=torch.float64)
            chosen = first[episode] + (share * length[episode]).long()
        return self.observations(places[chosen])

    def segments(self, count: int, length: int, generator: torch.Generator, *, newest: bool) -> Segments:
        """Sample segments of real games, to dream beside them; on the CPU.

        Frames whose episode was truncated before `length` steps are left out, so there may be no segment (B = 0).

        Args:
            count: B, unless there is nothing to sample; each frame equally likely, with replacement.
            length: steps T.
            generator: on the CPU.
            newest: from the newest chunk only.
        """
        places = self._starts[-1] if newest else torch.cat(self._starts)
        begins = torch.cat([torch.unique_consecutive(self._first), torch.tensor([self.size])])
        last = begins[torch.searchsorted(begins, places, right=True)] - 1
        is_whole = (last - places >= length) | self._rest.terminated[last]
        places, last = places[is_whole], last[is_whole]
        chosen = torch.randint(max(len(places), 1), (count if len(places) else 0,), generator=generator)
        places, last = places[chosen], last[chosen]
        at = places + torch.arange(length).unsqueeze(1)
        happened = at < last
        at = torch.minimum(at, last - 1)
        return Segments(
            observation=self.observations(places),
            action=self._rest.action[at].long(),
            frame=self._frames[at + 1],
            reward=self._rest.reward[at + 1].float() * happened,
            terminated=self._rest.terminated[at + 1],
            happened=happened,
        )

    def first_start(self) -> Tensor:
        """The first observation of the newest chunk, uint8 `[1, K, C, H, W]`."""
        return self.observations(self._starts[-1][:1])
