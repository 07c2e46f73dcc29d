"""Sums over the events of a step, by a compiled loop over the objects of a frame.

With convolutions the event prior takes a third of a dream step of MinAtar's Seaquest, though hardly any cell has an
object. The loop is `event_sums.cpp` (compiled by `evade.native`). Without a C++ compiler, or on another device, the
prior uses convolutions.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from evade.native import call, load_library, with_whole_rows

SOURCE = Path(__file__).with_suffix(".cpp")
MAX_CHANNELS = 64
"""Kinds of objects, one bit of a word for each."""


def can_sum(channels: int) -> bool:
    """Whether `sum_events` works on this machine, on the CPU, for frames of that many channels."""
    return channels <= MAX_CHANNELS and load_library(SOURCE) is not None


@torch.library.custom_op("evade::sum_events", mutates_args=())
def sum_events(
    now: Tensor,
    action: Tensor,
    then: Tensor,
    met: Tensor | None,
    met_now: Tensor | None,
    moved: Tensor | None,
    placed: Tensor | None,
    placed_now: Tensor | None,
) -> Tensor:
    """The weights of all events that happen in each step, summed, float32 `[B]`.

    Weights are None for a kind of event that does not exist.

    Args:
        now: uint8 `[B, C, H, W]`.
        action: int64 `[B]`.
        then: uint8 `[B, C, H, W]`.
        met: weights of an object of `then` and its neighbour there, float32 `[C, C + 1, 3, 3]`.
        met_now: the same of `now` under each action, `[A, C, C + 1, 3, 3]`.
        moved: of an object of `then` and a neighbour in `now`, `[C, C + 1, 3, 3]`.
        placed: of an object's place in `then`, `[C, H, W]`.
        placed_now: the same of `now` under each action, `[A, C, H, W]`.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_sum first"
    for by_action in (met_now, placed_now):
        # The loop would read whatever memory a wrong number leads to.
        assert by_action is None or ((action >= 0) & (action < len(by_action))).all(), "actions are checked first"
    now, then, action = with_whole_rows(now), then.contiguous(), action.contiguous()
    weights = [None if weight is None else weight.contiguous() for weight in (met, met_now, moved, placed, placed_now)]
    totals = torch.empty(len(now))
    call(library.sum_events, now, now.stride(0), then, action, *weights, totals, *now.shape)
    return totals


@sum_events.register_fake
def _(now: Tensor, *rest: Tensor | None) -> Tensor:
    return now.new_empty(len(now), dtype=torch.float32)


def count_events(
    now: Tensor, taken: Tensor, then: Tensor, predicted: Tensor, numbers: Tensor, parts: Sequence[Tensor | None]
) -> None:
    """Add 1 to the number of each event that happens in a step, or would if the prediction were right.

    Args:
        now: uint8 `[B, C, H, W]`.
        taken: bool `[B, A]`, the actions that events of the present frame count under.
        then: uint8 `[B, C, H, W]`.
        predicted: uint8 `[B, C, H, W]`.
        numbers: float32 `[events]`, changed in place.
        parts: its parts by kind of event, in the order and the shapes of the weights of `sum_events`.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_sum first"
    # The loop would read or write whatever memory a wrong type or shape leads to.
    assert now.dtype == then.dtype == predicted.dtype == torch.uint8, "bytes"
    assert now.shape == then.shape == predicted.shape, "one shape"
    assert taken.dtype == torch.bool, "bytes of 0 and 1"
    assert len(taken) == len(now), "one row for each step"
    assert numbers.dtype == torch.float32, "float32"
    assert numbers.is_contiguous(), "parts lie one after another"
    now, taken, then, predicted = with_whole_rows(now), taken.contiguous(), then.contiguous(), predicted.contiguous()
    sizes = len(numbers), taken.shape[1], *now.shape
    call(library.count_events, now, now.stride(0), then, predicted, taken, *parts, numbers, *sizes)
