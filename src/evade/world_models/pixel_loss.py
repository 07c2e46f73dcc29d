"""Next frames from features, a piece of the cells at a time: the loss with its gradients, and the likeliest frame.

At the paper's size the frame head gives 105 x 80 x 3 x 256 scores, 26 MB in float32 for each example, and the
gradient is as large again. Worked off in pieces that stay in a core's cache, they are never in memory as a whole.
"""

from typing import Any

import torch
from torch import Tensor, nn

from evade.world_models.losses import clipped_cross_entropy

PIECE_BYTES = 3 * 2**20
"""Float32 scores of one piece for each thread: 1,024 cells at the paper's size. Measured with 1 MB of second-level
cache a core and batch 16: with one thread loss and gradients take 0.43 s from 1.5 to 3 MB and 0.47 s from 6 to 24 MB;
with two 0.48 s at 1.5 MB, 0.36 s at 3 MB and 0.32 s from 6 MB on, because threads must be woken for every operation on
a piece. A MinAtar batch of 64 frames of 10 x 10 x 10 x 2 is half a megabyte, and so one piece."""

ARGMAX_BLOCK = 32
"""Of 8, 16, 32 and 64, the size at which finding the highest of 256 scores took least: 9 ms for 50,400 pixels on one
core, against 16 ms for torch's argmax."""


OBJECT_LOG_ODDS = -3.9
"""Of a probability of one fiftieth. In dreams of going up from the bottom of MinAtar's Freeway, the chicken was still
there after 30 steps in 30 % without the rule, in 73, 97 and 98 % with it from 5, 2 and 1 % on."""


def compute_pixel_loss(features: Tensor, head: nn.Linear, frame: Tensor, cutoff: float) -> Tensor:
    """The mean over a frame's values of the clipped cross-entropy of `head(features)`, in float32.

    Args:
        features: `[B, D, H, W]`, any float type; scores are multiplied out in it, all else is float32 at least.
        head: from D to C * V scores for each cell.
        frame: uint8 `[B, C, H, W]`, the values to predict, each below V.
        cutoff: in nats.
    """
    cells, target = _cells(features), _cells(frame)
    weight, bias = head.weight, head.bias
    size = _piece_size(weight)
    with torch.autocast(features.device.type, enabled=False):
        # One piece is all there is at MinAtar's size: nothing to save there, so torch's own operations do.
        if cells.shape[0] <= size:
            scores = _scores(cells, weight.to(cells.dtype), bias, target.shape[1])
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
    for part in _pieces(cells, piece_size):
        scores = _scores(cells[part], low_weight, bias, num_channels)
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
    for part in _pieces(cells, piece_size):
        scores = _scores(cells[part], low_weight, bias, target.shape[1])
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


def predict_pixels(features: Tensor, head: nn.Linear, num_channels: int) -> Tensor:
    """The likeliest frame, uint8 `[B, C, H, W]`, of features `[B, D, H, W]`; of equal scores the lowest value wins."""
    cells = _cells(features)
    # A compiler reads the scores once whatever their number, and would write the code of each piece on its own.
    pieces = [slice(None)] if torch.compiler.is_compiling() else _pieces(cells, _piece_size(head.weight))
    with torch.autocast(features.device.type, enabled=False):
        weight = head.weight.to(cells.dtype)
        parts = [likeliest(_scores(cells[part], weight, head.bias, num_channels)) for part in pieces]
    batch, _, height, width = features.shape
    return torch.cat(parts).view(batch, height, width, num_channels).permute(0, 3, 1, 2)


def predict_objects(features: Tensor, head: nn.Linear, last_frame: Tensor, is_single: Tensor) -> Tensor:
    """`predict_pixels` for cells that are on or off, but a thing whose next place is uncertain does not vanish.

    Where an object may be in one of three cells, none of them may reach one half, and cell by cell the likeliest
    frame has no object at all, although that is the least likely of all. So where a channel showed something, its
    likeliest cell is on if its log-odds are above `OBJECT_LOG_ODDS`, however many are more likely off than on. A
    channel that always shows one object shows its likeliest cell and no other: nothing doubles there either.

    Args:
        features: `[B, D, H, W]`.
        head: from D to C * 2 scores for each cell.
        last_frame: uint8 `[B, C, H, W]`.
        is_single: bool `[C]`, the channels that always show one object.
    """
    batch, num_channels, height, width = last_frame.shape
    with torch.autocast(features.device.type, enabled=False):
        cells = _cells(features)
        scores = _scores(cells, head.weight.to(cells.dtype), head.bias, num_channels)
    odds = (scores[..., 1] - scores[..., 0]).view(batch, height * width, num_channels)
    highest = odds.amax(1, keepdim=True)
    had_object = (last_frame.flatten(2).amax(2) > 0).unsqueeze(1)
    keeps_one = is_single | ((highest > OBJECT_LOG_ODDS) & had_object)
    is_on = ((odds > 0) & ~is_single) | ((odds == highest) & keeps_one)
    return is_on.to(torch.uint8).view(batch, height, width, num_channels).permute(0, 3, 1, 2)


def likeliest(scores: Tensor) -> Tensor:
    """The index of the highest of V scores, the lowest of equal ones: `[..., V]` to uint8 `[...]`.

    Argmax goes score by score, but the maximum does not: first the block of 32 that holds it is found, then the place
    in the block.
    """
    num_blocks, rest = divmod(scores.shape[-1], ARGMAX_BLOCK)
    if scores.shape[-1] == 2:
        return (scores[..., 1] > scores[..., 0]).to(torch.uint8)
    if rest or num_blocks == 1 or torch.compiler.is_compiling():
        return scores.argmax(-1).to(torch.uint8)
    blocks = scores.reshape(-1, num_blocks, ARGMAX_BLOCK)
    block = blocks.amax(-1).argmax(-1)
    within = blocks[torch.arange(len(blocks), device=scores.device), block].argmax(-1)
    return (block * ARGMAX_BLOCK + within).to(torch.uint8).view(scores.shape[:-1])


def _scores(cells: Tensor, weight: Tensor, bias: Tensor, num_channels: int) -> Tensor:
    """`[n, C, V]` in float32 at least, though multiplied in the cells' and the weight's type."""
    is_full = cells.dtype == bias.dtype
    flat = torch.addmm(bias, cells, weight.t()) if is_full else cells @ weight.t() + bias
    return flat.view(len(cells), num_channels, -1)


def _cells(x: Tensor) -> Tensor:
    """`[B, C, H, W]` as one row for each cell, `[B * H * W, C]`."""
    return x.permute(0, 2, 3, 1).flatten(0, 2)


def _sum_type(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _piece_size(weight: Tensor) -> int:
    return max(PIECE_BYTES // (4 * weight.shape[0]), 1)


def _pieces(cells: Tensor, piece_size: int) -> list[slice]:
    size = piece_size * torch.get_num_threads()
    return [slice(start, start + size) for start in range(0, cells.shape[0], size)]
