"""The first convolution of binary frames, with bias and rectifier, by a compiled loop over the objects of a frame.

On MinAtar hardly any cell has an object, and the loop saves a sixth to a third of an update of PPO
(`tests/time_policy.py`). It is `object_convolution.cpp` (compiled by `evade.native`), for one thread. Without a C++
compiler, or on another device, the policy convolves densely.
"""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import register_flop_formula

from evade.native import call, load_library, with_whole_rows

SOURCE = Path(__file__).with_suffix(".cpp")


def can_convolve_objects() -> bool:
    """Whether `convolve_objects` works on this machine, on the CPU."""
    return load_library(SOURCE) is not None


@torch.library.custom_op("evade::convolve_objects", mutates_args=())
def convolve_objects(frames: Tensor, weight: Tensor, bias: Tensor, stride: int) -> Tensor:
    """A convolution with TensorFlow's SAME padding, then a rectifier; no gradient for the frames.

    Args:
        frames: uint8 0 and 1, `[B, C, H, W]`.
        weight: float32 `[F, C, rows, columns]`.
        bias: float32 `[F]`.
        stride: of rows and columns.

    Returns:
        float32 `[B, ceil(H / stride) * ceil(W / stride) * F]`, in the order of rows, columns, filters.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_convolve_objects first"
    _check(frames, weight, bias)
    assert len(bias) == len(weight), "one number of filters"
    frames = with_whole_rows(frames)
    features = torch.empty(_shape_of_features(frames, weight, stride))
    by_object = weight.permute(1, 2, 3, 0).contiguous()
    sizes = (*frames.shape, *weight.shape[:1], *weight.shape[2:], stride)
    call(library.convolve_objects, frames, frames.stride(0), by_object, bias.contiguous(), features, *sizes)
    return features


@convolve_objects.register_fake
def _(frames: Tensor, weight: Tensor, bias: Tensor, stride: int) -> Tensor:
    return weight.new_empty(_shape_of_features(frames, weight, stride))


@torch.library.custom_op("evade::convolve_objects_backward", mutates_args=())
def convolve_objects_backward(
    frames: Tensor, weight: Tensor, features: Tensor, gradient: Tensor, stride: int
) -> tuple[Tensor, Tensor]:
    """The gradients of weight and bias.

    Args:
        frames: as in `convolve_objects`.
        weight: the same; only its shape and layout matter.
        features: what it returned.
        gradient: of the features, the same shape.
        stride: as before.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_convolve_objects first"
    _check(frames, weight, gradient)
    frames, features, gradient = with_whole_rows(frames), features.contiguous(), gradient.contiguous()
    assert features.shape == gradient.shape == _shape_of_features(frames, weight, stride), "one shape"
    num_filters, num_channels, *kernel = weight.shape
    by_object, bias = torch.zeros(num_channels, *kernel, num_filters), torch.zeros(num_filters)
    sizes = (*frames.shape, num_filters, *kernel, stride)
    call(library.convolve_objects_backward, frames, frames.stride(0), features, gradient, by_object, bias, *sizes)
    return torch.empty_like(weight).copy_(by_object.permute(3, 0, 1, 2)), bias


@convolve_objects_backward.register_fake
def _(frames: Tensor, weight: Tensor, features: Tensor, gradient: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    return torch.empty_like(weight), weight.new_empty(len(weight))


@register_flop_formula([torch.ops.evade.convolve_objects, torch.ops.evade.convolve_objects_backward])
def _count_flops(frames: torch.Size, weight: torch.Size, *rest: object, **_: object) -> int:
    """Those of the dense convolution, or of its weights' gradient."""
    stride = rest[-1]
    assert isinstance(stride, int)
    batch, height, width = frames[0], *frames[2:]
    return 2 * batch * math.ceil(height / stride) * math.ceil(width / stride) * weight.numel()


def _save(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int], output: Tensor) -> None:
    frames, weight, _, ctx.stride = inputs
    ctx.save_for_backward(frames, weight, output)


def _pass_back(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor, None]:
    frames, weight, features = ctx.saved_tensors
    return None, *convolve_objects_backward(frames, weight, features, gradient, ctx.stride), None


convolve_objects.register_autograd(_pass_back, setup_context=_save)


def _check(frames: Tensor, weight: Tensor, other: Tensor) -> None:
    """The loop would read whatever memory a wrong type or shape leads to."""
    assert frames.dtype == torch.uint8, "bytes"
    assert weight.dtype == other.dtype == torch.float32, "float32"
    assert frames.shape[1] == weight.shape[1], "one number of channels"


def _shape_of_features(frames: Tensor, weight: Tensor, stride: int) -> tuple[int, int]:
    batch, _, height, width = frames.shape
    return batch, math.ceil(height / stride) * math.ceil(width / stride) * len(weight)
