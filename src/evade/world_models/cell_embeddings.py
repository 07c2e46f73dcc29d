"""The first layers of the world model, from binary frames to maps, by a loop over objects, for dreams.

Frames are nearly empty bytes, and a product with all of their cells first makes floats of them. The loop in
`cell_embeddings.cpp` (compiled by `evade.native`) adds up the weights of the objects. It is used where no gradient is
recorded, as that of `cell_convolutions`.
"""

import ctypes
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.flop_counter import register_flop_formula

from evade.native import call, load_library, with_whole_rows
from evade.world_models.cell_convolutions import WIDTHS

SOURCE = Path(__file__).with_suffix(".cpp")


def can_embed(observation: Tensor, size: int) -> bool:
    """Whether the functions below work here: bytes on the CPU, maps of a width the loop is made for, no gradient."""
    return (
        size in WIDTHS
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and observation.device.type == "cpu"
        and observation.dtype == torch.uint8
        and _has_loop()
    )


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # torch's stubs
def _has_loop() -> bool:
    return load_library(SOURCE) is not None


@torch.library.custom_op("evade::embed_objects", mutates_args=())
def embed_objects(frames: Tensor, weight: Tensor, bias: Tensor, context: Tensor | None, position: Tensor) -> Tensor:
    """A linear map of each cell's channels, plus context and position: `[B, H, W, D]`.

    Args:
        frames: uint8 `[B, K, C, H, W]` of 0 and 1.
        weight: `[D, K * C]`.
        bias: `[D]`.
        context: `[B, D]`, added to every cell.
        position: `[D, H, W]`.
    """
    frames = with_whole_rows(frames)
    batch, num_frames, channels, rows, columns = frames.shape
    size = len(weight)
    out = torch.empty(batch, rows, columns, size)
    parts = weight.t().contiguous(), bias, _ready(context), position.permute(1, 2, 0).contiguous()
    sizes = frames.stride(0), batch, num_frames * channels, rows * columns, size
    call(_library().embed_objects, frames, *parts, out, *sizes)
    return out


@embed_objects.register_fake
def _(frames: Tensor, weight: Tensor, *rest: Tensor | None) -> Tensor:
    return weight.new_empty(len(frames), *frames.shape[3:], len(weight))


@register_flop_formula(torch.ops.evade.embed_objects)
def _(frames: torch.Size, weight: torch.Size, *rest: object, **_: object) -> int:
    """Those of a product with all cells, which it replaces."""
    return 2 * frames.numel() * weight[0]


@torch.library.custom_op("evade::look_around", mutates_args=())
def look_around(
    frames: Tensor, predicted: Tensor, weight: Tensor, bias: Tensor, presence: Tensor, gate: Tensor, shift: Tensor
) -> tuple[Tensor, Tensor]:
    """The first map of `LocalHeads`, `[B, H, W, D]`, and which cells have an object, bool `[B, H, W]`.

    Args:
        frames: the last two, uint8 `[B, 2, C, H, W]` of 0 and 1.
        predicted: `[B, C, H, W]`, the probability that each cell of the next frame is on.
        weight: `[D, 5 * C]`, of both frames, the predicted one, what appears and what vanishes.
        bias: `[D]`.
        presence: `[D, C]`, of the kinds of objects in the last frame.
        gate: `[B, D]`, the action's factor.
        shift: `[B, D]`, its summand.
    """
    frames, predicted = with_whole_rows(frames), predicted.contiguous()
    batch, _, channels, rows, columns = frames.shape
    size = len(weight)
    out, has_object = torch.empty(batch, rows, columns, size), torch.empty(batch, rows, columns, dtype=torch.bool)
    parts = weight.t().contiguous(), bias, presence.t().contiguous(), gate.contiguous(), shift.contiguous()
    sizes = frames.stride(0), batch, channels, rows * columns, size
    call(_library().look_around, frames, predicted, *parts, out, has_object, *sizes)
    return out, has_object


@look_around.register_fake
def _(frames: Tensor, predicted: Tensor, weight: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
    shape = (len(frames), *frames.shape[3:])
    return weight.new_empty(*shape, len(weight)), weight.new_empty(shape, dtype=torch.bool)


@register_flop_formula(torch.ops.evade.look_around)
def _(frames: torch.Size, predicted: torch.Size, weight: torch.Size, *rest: object, **_: object) -> int:
    """Those of the products with all cells and with the kinds of objects, which it replaces."""
    batch, channels, rows, columns = predicted
    return 2 * batch * (rows * columns * weight.numel() + channels * weight[0])


def _library() -> ctypes.CDLL:
    library = load_library(SOURCE)
    assert library is not None, "ask can_embed first"
    return library


def _ready(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()
