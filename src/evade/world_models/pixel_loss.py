"""The next frame's loss with its gradients, a piece of the cells at a time."""

from typing import Any

import torch
from torch import Tensor, nn

from evade.world_models.frame_logits import as_cells, cells_per_piece, cut_into_pieces, score_cells
from evade.world_models.losses import clipped_cross_entropy


def compute_pixel_loss(features: Tensor, head: nn.Linear, frame: Tensor, cutoff: float) -> Tensor:
    """The mean over a frame's values of the clipped cross-entropy of `head(features)`, in float32.

    Args:
        features: `[B, D, H, W]`, any float type; scores are multiplied out in it, all else is float32 at least.
        head: from D to C * V scores for each cell.
        frame: uint8 `[B, C, H, W]`, the values to predict, each below V.
        cutoff: in nats.
    """
    cells, target = as_cells(features), as_cells(frame)
    weight, bias = head.weight, head.bias
    size = cells_per_piece(weight)
    with torch.autocast(features.device.type, enabled=False):
        # One piece is all there is at MinAtar's size: nothing to save there, so torch's own operations do.
        if cells.shape[0] <= size:
            scores = score_cells(cells, weight.to(cells.dtype), bias, target.shape[1])
            return clipped_cross_entropy(scores, target.long(), cutoff).mean()
        arguments = cells, weight, bias, target, cutoff, size
        with_gradients = torch.is_grad_enabled()
        loss: Tensor = pixel_loss_and_gradients(*arguments)[0] if with_gradients else pixel_loss(*arguments)
        return loss


@torch.library.custom_op("evade::pixel_loss_and_gradients", mutates_args=())
def pixel_loss_and_gradients(
    cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, piece_size: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss and its derivatives by cells, weight and bias: a piece's scores serve for both while they are at hand.

    Its own derivative is thereby known, and can be taken once. One operation to torch.compile, which would unroll it.

    Args:
        cells: `[N, D]`.
        weight: `[C * V, D]`.
        bias: `[C * V]`.
        target: uint8 `[N, C]`.
        cutoff: in nats.
        piece_size: cells worked on at a time for each thread.
    """
    count, num_channels, sum_type = target.numel(), target.shape[1], _sum_type(cells)
    loss = cells.new_zeros((), dtype=sum_type)
    by_cells, by_weight, by_bias = torch.empty_like(cells), torch.zeros_like(weight), torch.zeros_like(bias)
    low_weight = weight.to(cells.dtype)
    for part in cut_into_pieces(cells, piece_size):
        scores = score_cells(cells[part], low_weight, bias, num_channels)
        entropy, by_scores = _entropy_and_gradient(scores, target[part].long(), cutoff)
        loss += entropy.sum(dtype=sum_type)
        by_bias += by_scores.sum(0)
        low = by_scores.to(cells.dtype)
        torch.mm(low, low_weight, out=by_cells[part])
        by_weight += low.t() @ cells[part]
    return loss / count, by_cells.div_(count), by_weight.div_(count), by_bias.div_(count)


@torch.library.custom_op("evade::pixel_loss", mutates_args=())
def pixel_loss(cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, piece_size: int) -> Tensor:
    """The loss alone; arguments as in `pixel_loss_and_gradients`."""
    loss = cells.new_zeros((), dtype=_sum_type(cells))
    low_weight = weight.to(cells.dtype)
    for part in cut_into_pieces(cells, piece_size):
        scores = score_cells(cells[part], low_weight, bias, target.shape[1])
        loss += clipped_cross_entropy(scores, target[part].long(), cutoff).sum(dtype=loss.dtype)
    return loss / target.numel()


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*output[1:])


def _chain(ctx: Any, outer: Tensor | None, *others: Tensor | None) -> tuple[Tensor | None, ...]:
    assert all(other is None for other in others), "the pixel loss can be differentiated once only"
    if outer is None:
        return (None,) * 6
    by_cells, by_weight, by_bias = ctx.saved_tensors
    return by_cells * outer.to(by_cells.dtype), by_weight * outer, by_bias * outer, None, None, None


pixel_loss_and_gradients.register_autograd(_chain, setup_context=_remember)


@pixel_loss_and_gradients.register_fake
def _(
    cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, piece_size: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    loss = cells.new_empty((), dtype=_sum_type(cells))
    return loss, torch.empty_like(cells), torch.empty_like(weight), torch.empty_like(bias)


@pixel_loss.register_fake
def _(cells: Tensor, weight: Tensor, bias: Tensor, target: Tensor, cutoff: float, piece_size: int) -> Tensor:
    return cells.new_empty((), dtype=_sum_type(cells))


def _entropy_and_gradient(scores: Tensor, target: Tensor, cutoff: float) -> tuple[Tensor, Tensor]:
    """The clipped cross-entropies `[n, C]` of scores `[n, C, V]`, and their sum's derivative `[n, C * V]`.

    The softmax is needed anyway, and its largest entry is one over the sum of exponentials: that saves the slower
    logarithm and exponential of every score.
    """
    target = target.unsqueeze(-1)
    probability = scores.softmax(-1)
    highest, of_target = scores.amax(-1, keepdim=True), scores.gather(-1, target)
    entropy = highest - of_target - probability.amax(-1, keepdim=True).log()
    counts = (entropy > cutoff).to(scores.dtype)
    gradient = probability.mul_(counts).scatter_add_(-1, target, -counts)
    return (entropy - cutoff).clamp_min(0).squeeze(-1), gradient.flatten(1)


def _sum_type(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)
