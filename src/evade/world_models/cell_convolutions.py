"""A convolution of a small map together with the action, norm, residual and position around it, for dreams.

At MinAtar's size torch spends two thirds of a stage's time on everything but its products, and its transposed
convolutions reach a tenth of the processor's speed. The loop in `cell_convolutions.cpp` (compiled by `evade.native`)
keeps a few maps in the cache and reaches nine tenths. It has no gradient, so it is used where none is recorded: in
dreams and measurements, not in fits.
"""

from pathlib import Path
from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import register_flop_formula

from evade.native import call, load_library

SOURCE = Path(__file__).with_suffix(".cpp")
WIDTHS = (8, 16)
"""Numbers of channels that the loop is compiled for."""


def can_convolve(convolution: nn.Module, maps: Tensor) -> TypeGuard[nn.Conv2d | nn.ConvTranspose2d]:
    """Whether `convolve_cells` can replace a convolution here: small float32 maps on the CPU, and no gradient."""
    return (
        isinstance(convolution, nn.Conv2d | nn.ConvTranspose2d)
        and _is_plain(convolution)
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and maps.device.type == "cpu"
        and maps.dtype == torch.float32
        and _has_loop()
    )


def _is_plain(convolution: nn.Conv2d | nn.ConvTranspose2d) -> bool:
    """As many channels out as in, of a width the loop is made for; a square kernel, a bias, and no dilation."""
    width, size = convolution.out_channels, convolution.kernel_size[0]
    return (
        width in WIDTHS
        and convolution.weight.shape == (width, width, size, size)
        and convolution.weight.dtype == torch.float32
        and convolution.bias is not None
        and convolution.stride[0] == convolution.stride[1]
        and convolution.padding[0] == convolution.padding[1]
        and convolution.padding_mode == "zeros"
        and convolution.dilation == (1, 1)
    )


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # torch's stubs
def _has_loop() -> bool:
    return load_library(SOURCE) is not None


def convolve_cells(
    convolution: nn.Conv2d | nn.ConvTranspose2d,
    maps: Tensor,
    *,
    gate: Tensor | None = None,
    shift: Tensor | None = None,
    position: Tensor | None = None,
    residual: Tensor | None = None,
    norm: nn.Module | None = None,
    norms_input: bool = False,
    later_position: Tensor | None = None,
    out_size: tuple[int, int] | None = None,
) -> Tensor:
    """`norm(relu(convolution(maps * gate + shift + position)) + residual) + later_position`, each part if it is given.

    Args:
        convolution: for which `can_convolve` holds.
        maps: `[B, C, H, W]`.
        gate: `[B, C]`, together with `shift`.
        shift: `[B, C]`.
        position: `[C, H', W']`; maps are padded with zeros to this size, at the bottom and on the right.
        residual: `[B, C, out rows, out columns]`.
        norm: a `CellNorm`.
        norms_input: the norm is of `maps` instead.
        later_position: `[C, out rows, out columns]`.
        out_size: rows and columns; others are not computed. By default those of `maps`.
    """
    rows, columns = out_size or maps.shape[2:]
    is_transposed = isinstance(convolution, nn.ConvTranspose2d)
    in_axis, out_axis = (0, 1) if is_transposed else (1, 0)
    assert convolution.bias is not None, "ask can_convolve first"
    made: Tensor = _convolve_cells(
        _as_cells(maps),
        rows,
        columns,
        convolution.weight.permute(2, 3, in_axis, out_axis).contiguous(),
        convolution.bias,
        gate,
        shift,
        None if position is None else position.permute(1, 2, 0),
        None if residual is None else _as_cells(residual),
        None if norm is None else norm.weight,
        None if norm is None else norm.bias,
        None if later_position is None else later_position.permute(1, 2, 0),
        norms_input and norm is not None,
        convolution.stride[0],
        int(convolution.padding[0]),
        is_transposed,
    )
    return made.permute(0, 3, 1, 2)


def _as_cells(maps: Tensor) -> Tensor:
    return maps.permute(0, 2, 3, 1)


@torch.library.custom_op("evade::convolve_cells", mutates_args=())
def _convolve_cells(
    cells: Tensor,
    rows: int,
    columns: int,
    kernel: Tensor,
    bias: Tensor,
    gate: Tensor | None,
    shift: Tensor | None,
    position: Tensor | None,
    residual: Tensor | None,
    scale: Tensor | None,
    offset: Tensor | None,
    later_position: Tensor | None,
    norms_input: bool,
    stride: int,
    padding: int,
    is_transposed: bool,
) -> Tensor:
    library = load_library(SOURCE)
    assert library is not None, "ask can_convolve first"
    batch, in_rows, in_columns, channels = cells.shape
    padded = (in_rows, in_columns) if position is None else position.shape[:2]
    out = torch.empty(batch, rows, columns, channels)
    # Named, so that copies live until the call is over.
    given = cells, kernel, bias, gate, shift, position, residual, scale, offset, later_position
    ready = [None if tensor is None else tensor.contiguous() for tensor in given]
    sizes = (batch, channels, in_rows, in_columns, *padded, rows, columns, kernel.shape[0], stride, padding)
    call(library.convolve_cells, *ready, out, *sizes, int(is_transposed), int(norms_input))
    return out


@_convolve_cells.register_fake
def _(cells: Tensor, rows: int, columns: int, *rest: object) -> Tensor:
    return cells.new_empty(cells.shape[0], rows, columns, cells.shape[3])


@register_flop_formula(torch.ops.evade.convolve_cells)
def _count_flops(cells: torch.Size, rows: int, columns: int, kernel: torch.Size, *rest: object, **_: object) -> int:
    """Those of the convolution, as torch counts its own."""
    is_transposed = rest[-1]
    batch, in_rows, in_columns = cells[:3]
    return 2 * batch * (in_rows * in_columns if is_transposed else rows * columns) * kernel.numel()
