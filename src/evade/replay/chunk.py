"""A piece of real experience: what one collection saw, as one immutable compressed file."""

import hashlib
from typing import NamedTuple

import torch
import zstandard
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from evade.errors import ReplayCorrupt

LEVEL = 3
"""Zstandard's own default: 60 to 450 times smaller on game frames at about 2 GB/s."""


class Chunk(NamedTuple):
    """Frames of one or more episodes in order, `L` of them; an episode of n steps has n + 1 frames."""

    frame: Tensor
    """uint8 `[L, C, H, W]`."""
    action: Tensor
    """uint8 `[L]`, taken at the frame; 0 at an episode's last frame, where none was."""
    reward: Tensor
    """int8 `[L]`, clipped, received on arriving at the frame."""
    raw_reward: Tensor
    """float32 `[L]`, as the game gave it, received on arriving at the frame."""
    terminated: Tensor
    """bool `[L]`: the game ended on arriving at the frame."""
    position: Tensor
    """int32 `[L]`: how many frames of the same episode came before."""

    @property
    def num_steps(self) -> int:
        """Steps of the agent, one fewer than frames in each episode."""
        return len(self.frame) - int((self.position == 0).sum())


def encode(chunk: Chunk) -> bytes:
    """The chunk as bytes; equal chunks give equal bytes."""
    tensors = {name: tensor.contiguous() for name, tensor in chunk._asdict().items()}
    return zstandard.ZstdCompressor(level=LEVEL).compress(save(tensors))


def decode(data: bytes, name: str, sha256: str) -> Chunk:
    """The chunk of some bytes, after comparing their hash.

    Args:
        data: what `encode` gave.
        name: what to call the file in an error.
        sha256: the hash it should have.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ReplayCorrupt(f"{name} is not the file that was written (its hash differs): restore it from a copy.")
    try:
        tensors = load(zstandard.ZstdDecompressor().decompress(data))
        return Chunk(**tensors)
    except (zstandard.ZstdError, SafetensorError, TypeError) as error:
        raise ReplayCorrupt(f"{name} cannot be read ({error}): restore it from a copy.") from error


def join_episodes(episodes: list[Chunk]) -> Chunk:
    """Several pieces one after the other."""
    return Chunk(*(torch.cat(fields) for fields in zip(*episodes, strict=True)))
