"""A chunk of real experience: one collection, as one immutable compressed file."""

import hashlib
from typing import NamedTuple

import torch
import zstandard
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from evade.errors import ReplayCorrupt

LEVEL = 3
"""Zstandard's default level: game frames become 60 to 450 times smaller, at about 2 GB/s."""


class Chunk(NamedTuple):
    """`L` frames of one or more episodes in order; an episode of n steps has n + 1 frames."""

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
    """int32 `[L]`: index of the frame in its episode."""

    @property
    def num_steps(self) -> int:
        """Agent steps: one fewer than frames in each episode."""
        return len(self.frame) - int((self.position == 0).sum())


def encode(chunk: Chunk) -> bytes:
    """Serialise and compress a chunk; equal chunks give equal bytes."""
    tensors = {name: tensor.contiguous() for name, tensor in chunk._asdict().items()}
    return zstandard.ZstdCompressor(level=LEVEL).compress(save(tensors))


def decode(data: bytes, name: str, sha256: str) -> Chunk:
    """Check the hash of an encoded chunk and decode it.

    Args:
        data: from `encode`.
        name: of the file, for error messages.
        sha256: the expected hash.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ReplayCorrupt(f"{name} is damaged (its hash differs): restore it from a backup.")
    try:
        tensors = load(zstandard.ZstdDecompressor().decompress(data))
        return Chunk(**tensors)
    except (zstandard.ZstdError, SafetensorError, TypeError) as error:
        raise ReplayCorrupt(f"{name} cannot be read ({error}): restore it from a backup.") from error


def join_episodes(episodes: list[Chunk]) -> Chunk:
    """Concatenate chunks."""
    return Chunk(*(torch.cat(fields) for fields in zip(*episodes, strict=True)))
