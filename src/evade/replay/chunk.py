"""A chunk of real experience: one collection, as one immutable compressed file."""

import hashlib
from typing import NamedTuple

import torch
import zstandard
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from evade.errors import ReplayCorrupt
from evade.game_spec import GameSpec

LARGEST = 1 << 40
"""Bytes, for who does not know how large a chunk may be."""

BYTES_PER_FRAME = 11
"""Action, reward, raw reward, end and position of one frame."""

HEADER = 1 << 16
"""Bytes for the names, types and shapes of a chunk's tensors."""

LEVEL = 3
"""Zstandard's default level: game frames become 60 to 450 times smaller, at about 2 GB/s."""


class Chunk(NamedTuple):
    """`L` frames of one or more episodes in order; an episode of n steps has n + 1 frames.

    An episode that goes on from an earlier chunk begins with the K - 1 frames that the agent has seen before, its
    history: they are copies for observations, and no steps.
    """

    frame: Tensor
    """uint8 `[L, C, H, W]`."""
    action: Tensor
    """uint8 `[L]`, taken at the frame; 0 at an episode's last frame, where no action was taken."""
    reward: Tensor
    """int8 `[L]`, clipped, received on arriving at the frame."""
    raw_reward: Tensor
    """float32 `[L]`, unclipped, received on arriving at the frame."""
    terminated: Tensor
    """bool `[L]`: the game ended on arriving at the frame."""
    position: Tensor
    """int32 `[L]`: index of the frame in its episode, counted from where this chunk's part of it begins; negative for
    history."""

    @property
    def num_steps(self) -> int:
        """Agent steps: one fewer than frames in each episode, without history."""
        return len(self.frame) - int((self.position <= 0).sum())

    @property
    def is_step(self) -> Tensor:
        """Whether an action was taken at the frame, bool `[L]`."""
        goes_on = torch.cat([self.position[1:] == self.position[:-1] + 1, torch.tensor([False])])
        return goes_on & (self.position >= 0)

    @property
    def first(self) -> Tensor:
        """Where each frame's episode begins in this chunk, its history included; int64 `[L]`."""
        index = torch.arange(len(self.position))
        begins = torch.cat([torch.tensor([True]), self.position[1:] != self.position[:-1] + 1])
        return torch.where(begins, index, 0).cummax(0).values


def encode(chunk: Chunk) -> bytes:
    """Serialise and compress a chunk; equal chunks give equal bytes."""
    tensors = {name: tensor.contiguous() for name, tensor in chunk._asdict().items()}
    return zstandard.ZstdCompressor(level=LEVEL).compress(save(tensors))


def decode(data: bytes, name: str, sha256: str, largest: int = LARGEST) -> Chunk:
    """Check the hash of an encoded chunk and decode it.

    Args:
        data: from `encode`.
        name: of the file, for error messages.
        sha256: the expected hash.
        largest: bytes that it may have when decompressed.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ReplayCorrupt(f"{name} is damaged (its hash differs): restore it from a backup.")
    try:
        # Before anything is decompressed, because a small file can hold gigabytes of zeros.
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= largest:
            raise ReplayCorrupt(f"{name} would have {size:,} bytes, but at most {largest:,} fit the settings.")
        tensors = load(zstandard.ZstdDecompressor().decompress(data))
        return Chunk(**tensors)
    except (zstandard.ZstdError, SafetensorError, TypeError, KeyError, ValueError) as error:
        raise ReplayCorrupt(f"{name} cannot be read ({error}): restore it from a backup.") from error


def largest_chunk(game: GameSpec, num_steps: int, num_history: int) -> int:
    """Bytes that a chunk has at most, uncompressed: every episode has at least one step.

    Args:
        game: gives the size of frames.
        num_steps: that it has.
        num_history: frames that are history.
    """
    frame_size = game.channels * game.height * game.width + BYTES_PER_FRAME
    return (2 * num_steps + num_history) * frame_size + HEADER


def check_chunk(chunk: Chunk, name: str, game: GameSpec, num_steps: int, num_frames: int) -> None:
    """Refuse a chunk that no recorder of this game can have written.

    Args:
        chunk: decoded.
        name: of the file, for error messages.
        game: gives the shape of frames, the actions and the rewards.
        num_steps: that it should have.
        num_frames: frames K in an observation, which make up the history.

    Raises:
        ReplayCorrupt: a tensor has another type or shape, or values that cannot be.
    """
    length = len(chunk.position) if chunk.position.dim() else 0
    shapes: dict[str, tuple[torch.dtype, tuple[int, ...]]] = {
        "frame": (torch.uint8, (length, game.channels, game.height, game.width)),
        "action": (torch.uint8, (length,)),
        "reward": (torch.int8, (length,)),
        "raw_reward": (torch.float32, (length,)),
        "terminated": (torch.bool, (length,)),
        "position": (torch.int32, (length,)),
    }
    for field, (dtype, shape) in shapes.items():
        tensor: Tensor = getattr(chunk, field)
        if tensor.dtype != dtype or tuple(tensor.shape) != shape:
            found = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
            raise ReplayCorrupt(
                f"{name} has {field} as {found}, which does not fit the game: restore it from a backup."
            )
    rules = {
        "frames of whole episodes": length >= 2 and _has_whole_episodes(chunk.position, num_frames),
        "as many steps as its record says": chunk.num_steps == num_steps,
        "actions of the game": length > 0 and int(chunk.action.max()) < game.num_actions,
        "rewards in the game's range": length > 0
        and game.lowest_reward <= int(chunk.reward.min()) <= int(chunk.reward.max()) <= game.highest_reward,
        "finite raw rewards": bool(chunk.raw_reward.isfinite().all()),
        "cells in the game's range": game.levels == 256 or (length > 0 and int(chunk.frame.max()) < game.levels),
    }
    for rule, holds in rules.items():
        if not holds:
            raise ReplayCorrupt(f"{name} does not have {rule}: restore it from a backup.")


def _has_whole_episodes(position: Tensor, num_frames: int) -> bool:
    """Whether every episode begins at its first frame or with a whole history, and does not end within that."""
    begins = torch.cat([torch.tensor([True]), position[1:] != position[:-1] + 1])
    ends = begins.roll(-1)
    can_begin = (position == 0) | (position == 1 - num_frames)
    return bool((can_begin | ~begins).all() and (~ends | (position >= 0)).all())


def join_episodes(episodes: list[Chunk]) -> Chunk:
    """Concatenate chunks."""
    return Chunk(*(torch.cat(fields) for fields in zip(*episodes, strict=True)))
