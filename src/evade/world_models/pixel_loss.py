"""The next frame's loss with its gradients, computed in chunks of cells."""

from typing import Any

import torch
from torch import Tensor, nn

from evade.world_models.frame_logits import (
    as_cells,
    cells_per_chunk,
    compute_log_odds,
    compute_logits,
    split_into_chunks,
)
from evade.world_models.losses import clipped_binary_cross_entropy, clipped_cross_entropy


def compute_pixel_loss(features: Tensor, head: nn.Linear, frame: Tensor, cutoff: float) -> Tensor:
    """The clipped cross-entropy of `head(features)`, averaged over all values of the frames; a float32 scalar.

    Args:
        features: `[B, D, H, W]`, any float dtype; the product with the head's weight is computed in it, all else in
            float32 at least.
        head: from D to C * V logits for each cell.
        frame: uint8 `[B, C, H, W]`, the values to predict, each below V.
        cutoff: in nats.
    """
    cells, target = as_cells(features), as_cells(frame)
    weight, bias = head.weight, head.bias
    size = cells_per_chunk(weight)
    with torch.autocast(features.device.type, enabled=False):
        # At MinAtar's size everything is one chunk: then torch's own autograd is as good.
        if cells.shape[0] <= size:
            if weight.shape[0] == 2 * target.shape[1]:
                log_odds = compute_log_odds(features, weight, bias)
                return clipped_binary_cross_entropy(log_odds, frame, cutoff).mean()
            logits = compute_logits(cells, weight.to(cells.dtype), bias, target.shape[1])
            return clipped_cross_entropy(logits, target.long(), cutoff).mean()
        arguments = cells, weight, bias, target, cutoff, size
        with_gradients = torch.is_grad_enabled()
        loss: Tensor = pixel_loss_and_gradients(*arguments)[0] if with_gradients else pixel_loss(*arguments)
        return loss


@torch.library.custom_op("evade::pixel_loss_and_gradients", mutates_args=())
def pixel_loss_and_gradients(
    cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, chunk_size: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and its gradients by cells, weight and bias, both from the same chunk of logits.

    Backward only scales these gradients, so the loss can be differentiated once. A custom operator, because
    torch.compile would unroll the loop over chunks.

    Args:
        cells: `[N, D]`.
        weight: `[C * V, D]`.
        bias: `[C * V]`.
        target: uint8 `[N, C]`.
        cutoff: in nats.
        chunk_size: cells in a chunk for each thread.
    """
    count, num_channels, sum_type = target.numel(), target.shape[1], _sum_type(cells)
    loss = cells.new_zeros((), dtype=sum_type)
    by_cells, by_weight, by_bias = torch.empty_like(cells), torch.zeros_like(weight), torch.zeros_like(bias)
    low_weight = weight.to(cells.dtype)
    for chunk in split_into_chunks(cells, chunk_size):
        logits = compute_logits(cells[chunk], low_weight, bias, num_channels)
        entropy, by_logits = _entropy_and_gradient(logits, target[chunk].long(), cutoff)
        loss += entropy.sum(dtype=sum_type)
        by_bias += by_logits.sum(0)
        low = by_logits.to(cells.dtype)
        torch.mm(low, low_weight, out=by_cells[chunk])
        by_weight += low.t() @ cells[chunk]
    return loss / count, by_cells.div_(count), by_weight.div_(count), by_bias.div_(count)


@torch.library.custom_op("evade::pixel_loss", mutates_args=())
def pixel_loss(cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, chunk_size: int) -> Tensor:
    """The loss alone; arguments as in `pixel_loss_and_gradients`."""
    loss = cells.new_zeros((), dtype=_sum_type(cells))
    low_weight = weight.to(cells.dtype)
    for chunk in split_into_chunks(cells, chunk_size):
        logits = compute_logits(cells[chunk], low_weight, bias, target.shape[1])
        loss += clipped_cross_entropy(logits, target[chunk].long(), cutoff).sum(dtype=loss.dtype)
    return loss / target.numel()


def _save_gradients(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output[1:])


def _scale_gradients(ctx: Any, outer: Tensor | None, *others: Tensor | None) -> tuple[Tensor | None, ...]:
    assert all(other is None for other in others), "the pixel loss can be differentiated only once"
    if outer is None:
        return (None,) * 6
    by_cells, by_weight, by_bias = ctx.saved_tensors
    return by_cells * outer.to(by_cells.dtype), by_weight * outer, by_bias * outer, None, None, None


pixel_loss_and_gradients.register_autograd(_scale_gradients, setup_context=_save_gradients)


@pixel_loss_and_gradients.register_fake
def _(
    cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, chunk_size: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    loss = cells.new_empty((), dtype=_sum_type(cells))
    return loss, torch.empty_like(cells), torch.empty_like(weight), torch.empty_like(bias)


@pixel_loss.register_fake
def _(cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, chunk_size: int) -> Tensor:
    return cells.new_empty((), dtype=_sum_type(cells))


def _entropy_and_gradient(logits: Tensor, target: Tensor, cutoff: float) -> tuple[Tensor, Tensor]:
    """The clipped cross-entropies `[n, C]` of logits `[n, C, V]`, and the gradient `[n, C * V]` of their sum.

    The gradient needs the softmax, and the largest probability is one over the sum of exponentials: so the
    log-sum-exp is the highest logit minus that probability's log, without a second pass of exponentials.
    """
    target = target.unsqueeze(-1)
    probability = logits.softmax(-1)
    highest, of_target = logits.amax(-1, keepdim=True), logits.gather(-1, target)
    entropy = highest - of_target - probability.amax(-1, keepdim=True).log()
    counts = (entropy > cutoff).to(logits.dtype)
    gradient = probability.mul_(counts).scatter_add_(-1, target, -counts)
    return (entropy - cutoff).clamp_min(0).squeeze(-1), gradient.flatten(1)


def _sum_type(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)
