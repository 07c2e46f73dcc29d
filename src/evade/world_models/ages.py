"""How many steps ago something changed in each channel of binary frames: what `Clocks` show.

An object appears in a cell that was empty, and vanishes from one that is. It is born where none of its channel was
within one cell before, and dies where none is within one cell after: a shot that flies appears at every step, and is
born once.

On the CPU a compiled loop (`ages.cpp`, by `evade.native`) packs the cells of a row into the bits of a number, and skips
channels that stay the same. Without a C++ compiler, or on another device, tensors do it, with the same result.
"""

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from evade.native import call, load_library, with_whole_rows
from evade.world_models.conversion import as_float

SOURCE = Path(__file__).with_suffix(".cpp")

WIDEST = 53
"""Columns of the widest grid: a float64 is exact up to this number of bits."""


def count_ages(observation: Tensor, sees_births: bool = False) -> Tensor:
    """How many steps ago an object last appeared in each channel, and then last vanished: int64 `[B, 2 * C]`.

    The highest age, K - 1, means that nothing did in the K frames.

    Args:
        observation: uint8 `[B, K, C, H, W]` of 0 and 1, oldest frame first.
        sees_births: then the same of births and of deaths, int64 `[B, 4 * C]` in all.
    """
    if _can_loop(observation):
        counted: Tensor = _count_ages(observation, 4 if sees_births else 2)
        return counted
    num_frames = observation.shape[1]
    happened = _find_changes(_pack_rows(observation), sees_births)
    steps = torch.arange(1, num_frames, device=observation.device)
    last: Tensor = (happened * steps[:, None]).amax(1)
    return num_frames - 1 - last


def advance_ages(ages: Tensor, before: Tensor, after: Tensor, num_frames: int) -> Tensor:
    """The ages one step later.

    Args:
        ages: from `count_ages`, at the frame `before`.
        before: uint8 `[B, C, H, W]`.
        after: uint8 `[B, C, H, W]`, the next frame.
        num_frames: K; ages stop at K - 1.
    """
    if _can_loop(before):
        later: Tensor = _advance_ages(ages, before, after, num_frames - 1)
        return later
    sees_births = ages.shape[1] == 4 * before.shape[1]
    rows = torch.stack([_pack_rows(before), _pack_rows(after)], 1)
    happened = _find_changes(rows, sees_births).squeeze(1)
    return (ages + 1).clamp_max(num_frames - 1) * (1 - happened.long())


def _can_loop(frames: Tensor) -> bool:
    return frames.device.type == "cpu" and frames.dtype == torch.uint8 and frames.shape[-1] <= WIDEST and _has_loop()


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # torch's stubs
def _has_loop() -> bool:
    return load_library(SOURCE) is not None


@torch.library.custom_op("evade::count_ages", mutates_args=())
def _count_ages(observation: Tensor, kinds: int) -> Tensor:
    library = load_library(SOURCE)
    assert library is not None, "ask _can_loop first"
    assert observation.dtype == torch.uint8, "bytes"
    observation = with_whole_rows(observation)
    batch, num_frames, channels, height, width = observation.shape
    ages = torch.empty(batch, kinds * channels, dtype=torch.long)
    sizes = batch, num_frames, channels, height, width, kinds
    call(library.count_ages, observation, observation.stride(0), ages, *sizes)
    return ages


@_count_ages.register_fake
def _(observation: Tensor, kinds: int) -> Tensor:
    return observation.new_empty(len(observation), kinds * observation.shape[2], dtype=torch.long)


@torch.library.custom_op("evade::advance_ages", mutates_args=())
def _advance_ages(ages: Tensor, before: Tensor, after: Tensor, oldest: int) -> Tensor:
    library = load_library(SOURCE)
    assert library is not None, "ask _can_loop first"
    kinds = ages.shape[1] // before.shape[1]
    # The loop would read whatever memory a wrong type or shape leads to.
    assert before.dtype == after.dtype == torch.uint8, "bytes"
    assert before.shape == after.shape, "frames of one size"
    assert ages.dtype == torch.long, "whole numbers"
    assert ages.shape == (len(before), kinds * before.shape[1]), "ages of these frames"
    before, after, ages = with_whole_rows(before), after.contiguous(), ages.contiguous()
    later = torch.empty_like(ages)
    sizes = len(before), oldest, *before.shape[1:], kinds
    call(library.advance_ages, ages, before, before.stride(0), after, later, *sizes)
    return later


@_advance_ages.register_fake
def _(ages: Tensor, before: Tensor, after: Tensor, oldest: int) -> Tensor:
    return torch.empty_like(ages)


def _pack_rows(frames: Tensor) -> Tensor:
    """Each row of cells as the bits of a number, uint8 `[..., H, W]` of 0 and 1 to int64 `[..., H]`."""
    # A product of floats is the fastest sum of few; float64 is exact up to `WIDEST`.
    powers = 2.0 ** torch.arange(frames.shape[-1], device=frames.device, dtype=torch.float64)
    return (as_float(frames).double() @ powers).long()


def _find_changes(rows: Tensor, sees_births: bool) -> Tensor:
    """Whether an object appeared in each channel, and then vanished; with births, also was born, and died.

    Args:
        rows: of K frames, packed, int64 `[B, K, C, H]`.
        sees_births: whether there are four kinds of changes or two.

    Returns:
        bool `[B, K - 1, kinds * C]`.
    """
    before, after = rows[:, :-1], rows[:, 1:]
    kinds = [after & ~before, before & ~after]
    if sees_births:
        far = ~_spread(rows)
        kinds += [after & far[:, :-1], before & far[:, 1:]]
    return torch.cat([(kind != 0).any(-1) for kind in kinds], -1)


def _spread(rows: Tensor) -> Tensor:
    """Packed rows of the cells that are within one cell of an object."""
    padded = F.pad(rows | (rows << 1) | (rows >> 1), (1, 1))
    return padded[..., :-2] | padded[..., 1:-1] | padded[..., 2:]
