"""A transposed convolution with a cheaper gradient."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class _BiasGradient(torch.autograd.Function):
    """The identity of a map to which a detached bias was added; its backward computes the bias's gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, bias: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.bias_type = inputs[1].dtype

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor]:
        all_but_channels = [axis for axis in range(outer.dim()) if axis != outer.dim() - 3]
        return outer, outer.sum(all_but_channels, dtype=ctx.bias_type)


def conv_transpose2d(x: Tensor, kernel: Tensor, bias: Tensor | None, *options: Any) -> Tensor:
    """`F.conv_transpose2d` with a faster gradient of the bias: one sum over the output's gradient.

    On CPUs torch's own gradient of the bias takes 19 of the 64 ms for all gradients of a 4x4 kernel from 128 to 64
    channels, 16 maps of 53 x 40 in bfloat16. The sum takes 2 ms.

    Args:
        x: `[B, C_in, H, W]` (or `[C_in, H, W]`).
        kernel: `[C_in, C_out, m, m]`.
        bias: `[C_out]`.
        options: stride, padding, output_padding, groups and dilation, as in `F.conv_transpose2d`.
    """
    if bias is None or not (bias.requires_grad and torch.is_grad_enabled()):
        return F.conv_transpose2d(x, kernel, bias, *options)
    convolved = F.conv_transpose2d(x, kernel, bias.detach(), *options)
    with_gradient: Tensor = _BiasGradient.apply(convolved, bias)  # type: ignore[no-untyped-call]  # torch's stubs
    return with_gradient


class ConvTranspose2d(nn.ConvTranspose2d):
    """`nn.ConvTranspose2d` that uses `conv_transpose2d` above."""

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """`[B, C_in, H, W]` to `[B, C_out, H', W']`; `output_size` is not supported."""
        assert output_size is None, "the output size follows from stride and padding"
        return conv_transpose2d(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )
