"""Between bytes and floats, fast in compiled code too.

Frames are bytes. Code that torch.compile makes for a CPU passes every eight bytes through memory on their way into a
vector register; torch's own conversion of a whole tensor does not. So compiled code calls that one, and computes with
floats otherwise.
"""

import torch
from torch import Tensor


@torch.library.custom_op("evade::as_float", mutates_args=())
def _convert_to_float(x: Tensor) -> Tensor:
    return x.to(torch.float32).contiguous()


@torch.library.custom_op("evade::as_bytes", mutates_args=())
def _convert_to_bytes(x: Tensor) -> Tensor:
    return x.to(torch.uint8).contiguous()


@_convert_to_float.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape, dtype=torch.float32)


@_convert_to_bytes.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape, dtype=torch.uint8)


def as_float(x: Tensor) -> Tensor:
    """Bytes as float32."""
    converted: Tensor = _convert_to_float(x) if _is_compiled_for_cpu(x) else x.float()
    return converted


def as_bytes(x: Tensor) -> Tensor:
    """Floats of whole numbers from 0 to 255 as bytes."""
    converted: Tensor = _convert_to_bytes(x) if _is_compiled_for_cpu(x) else x.to(torch.uint8)
    return converted


def _is_compiled_for_cpu(x: Tensor) -> bool:
    return torch.compiler.is_compiling() and x.device.type == "cpu"
