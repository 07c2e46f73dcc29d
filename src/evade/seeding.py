"""One root seed, many independent streams: each named by what it is for and when."""

import hashlib

import torch


def derive_seed(root: int, purpose: str, iteration: int) -> int:
    """A seed of 63 bits for a purpose in an iteration; changing one stream never changes another."""
    digest = hashlib.sha256(f"{root}/{purpose}/{iteration}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def build_generator(device: torch.device, root: int, purpose: str, iteration: int) -> torch.Generator:
    """A fresh generator for a purpose in an iteration."""
    return torch.Generator(device).manual_seed(derive_seed(root, purpose, iteration))
