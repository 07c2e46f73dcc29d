"""The real experience of a run: its episodes, their frames, and how the game is brought to any of them again."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from evade.errors import LookError, ReplayCorrupt
from evade.replay.chunk import Chunk, decode
from evade.replay.chunk_record import ChunkRecord
from evade.seeding import derive_seed
from evade.training.load import LoadedRun


class Origin(NamedTuple):
    """Where a game starts: the actions that lead there from the first reset of one game of a batch."""

    seed: int
    env: int
    """Number of the game in its batch."""
    actions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Episode:
    """One recorded episode."""

    begin: int
    """Its first frame in the chunk."""
    num_frames: int
    score: float
    """Sum of its raw rewards."""
    env: int
    """The game of the batch that it was played in."""


@dataclass(frozen=True)
class Start:
    """A recorded frame to start from."""

    observation: Tensor
    """uint8 `[K, C, H, W]`."""
    origin: Origin
    frames: Tensor
    """uint8 `[n, C, H, W]`, what was recorded after it."""
    actions: tuple[int, ...]
    """What was played there and after it, n numbers."""
    rewards: tuple[float, ...]
    """Clipped, n numbers."""
    raw_rewards: tuple[float, ...]
    terminated: tuple[bool, ...]


class Film:
    """All chunks of a run, read one at a time.

    Args:
        run: whose experience.
    """

    def __init__(self, run: LoadedRun) -> None:
        self._run = run
        self._records = [ChunkRecord(**value) for value in run.chunks]
        self._read = lru_cache(maxsize=2)(self._decode)

    @property
    def num_chunks(self) -> int:
        """How many collections there are."""
        return len(self._records)

    def iteration(self, number: int) -> int:
        """The iteration of Algorithm 1 in which a chunk was collected."""
        self._check(number)
        return int(self._records[number].name.removeprefix("chunk-").partition(".")[0]) + 1

    def chunk(self, number: int) -> Chunk:
        """One collection."""
        self._check(number)
        return self._read(number)

    def episodes(self, number: int) -> list[Episode]:
        """The episodes of a chunk, in order."""
        chunk = self.chunk(number)
        begins = (chunk.position == 0).nonzero().flatten().tolist()
        ends = [*torch.unique_consecutive(chunk.first).tolist()[1:], len(chunk.position)]
        # Every game of a batch makes the same number of steps, and its episodes follow each other in the chunk.
        per_env = chunk.num_steps // self._run.config.collect.num_envs
        episodes, done = [], 0
        for begin, end in zip(begins, ends, strict=True):
            score = float(chunk.raw_reward[begin:end].sum())
            episodes.append(Episode(begin, end - begin, score, env=done // per_env))
            done += end - begin - 1
        return episodes

    def start(self, number: int, at: int) -> Start:
        """Frame `at` of a chunk, with what is needed to play on from it; instead of history, the frame after it."""
        chunk, episodes = self.chunk(number), self.episodes(number)
        if not 0 <= at < len(chunk.position):
            raise LookError(f"Invalid frame {at}: collection {number} has frames 0 to {len(chunk.position) - 1}.")
        at -= min(int(chunk.position[at]), 0)
        episode = next(each for each in reversed(episodes) if each.begin <= at)
        end = episode.begin + episode.num_frames
        stack = torch.arange(at - self._run.config.env.num_frames + 1, at + 1).clamp_min(int(chunk.first[at]))
        after = slice(at + 1, end)
        return Start(
            observation=chunk.frame[stack],
            origin=self._origin(number, at, episode.env),
            frames=chunk.frame[after],
            actions=tuple(chunk.action[at : end - 1].tolist()),
            rewards=tuple(chunk.reward[after].float().tolist()),
            raw_rewards=tuple(chunk.raw_reward[after].tolist()),
            terminated=tuple(chunk.terminated[after].tolist()),
        )

    def _origin(self, number: int, at: int, env: int) -> Origin:
        """How a game of a chunk came to frame `at`."""
        collect = self._run.config.collect
        # A game that goes on from collection to collection began in the first one.
        since = 0 if env < collect.num_kept else number
        seed = derive_seed(self._run.config.seed, "games", self.iteration(since)) % 2**31
        played: list[int] = []
        for earlier in range(since, number):
            chunk = self.chunk(earlier)
            played += chunk.action[chunk.is_step].view(collect.num_envs, -1)[env].tolist()
        chunk = self.chunk(number)
        taken = chunk.is_step.nonzero().flatten().view(collect.num_envs, -1)[env]
        return Origin(seed, env, (*played, *chunk.action[taken[taken < at]].tolist()))

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._records):
            raise LookError(f"Invalid collection {number}: the run has {len(self._records)}.")

    def _decode(self, number: int) -> Chunk:
        record = self._records[number]
        path = self._run.folder.replay / record.name
        try:
            return decode(path.read_bytes(), str(path), record.sha256)
        except OSError as error:
            raise ReplayCorrupt(f"{path} cannot be read ({error.strerror or error}): restore it from a copy.") from None
