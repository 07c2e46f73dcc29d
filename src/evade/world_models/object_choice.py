"""`next_frame.predict_objects` by a compiled loop, one dream at a time.

By tensors each of its ten comparisons passes all cells of all dreams through memory: an eighth of a dream step of
MinAtar's Seaquest. The loop is `object_choice.cpp` (compiled by `evade.native`); its result is the same.
"""

from pathlib import Path

import torch
from torch import Tensor

from evade.native import call, load_library, with_whole_rows

SOURCE = Path(__file__).with_suffix(".cpp")

MAX_CHANNELS = 64
"""Channels that the loop keeps the highest log-odds of."""


def can_choose(log_odds: Tensor, last_frame: Tensor) -> bool:
    """Whether `choose_objects` works here: float32 on the CPU, with bytes."""
    return (
        log_odds.device.type == "cpu"
        and log_odds.dtype == torch.float32
        and last_frame.dtype == torch.uint8
        and last_frame.shape[1] <= MAX_CHANNELS
        and _has_loop()
    )


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]  # torch's stubs
def _has_loop() -> bool:
    return load_library(SOURCE) is not None


@torch.library.custom_op("evade::choose_objects", mutates_args=())
def choose_objects(
    log_odds: Tensor, last_frame: Tensor, one_object: Tensor, flip: Tensor | None, object_log_odds: float
) -> Tensor:
    """The next frame, uint8 `[B, C, H, W]`.

    Args:
        log_odds: float32 `[B, C, H, W]`.
        last_frame: uint8 `[B, C, H, W]` of 0 and 1.
        one_object: bool `[C, C]`.
        flip: float32 `[B]`: in each dream, cells of log-odds below it in size take the less likely value. None: none.
        object_log_odds: above it the most likely cell of a channel that was not empty is on.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_choose first"
    batch, channels, height, width = log_odds.shape
    # The loop would read whatever memory a wrong type or shape leads to.
    assert last_frame.shape == log_odds.shape, "one shape"
    assert last_frame.dtype == torch.uint8, "bytes"
    assert one_object.shape == (channels, channels), "one row for each channel"
    assert one_object.dtype == torch.bool, "bytes of 0 and 1"
    assert flip is None or (flip.shape == (batch,) and flip.dtype == torch.float32), "one for each dream"
    last_frame = with_whole_rows(last_frame)
    log_odds, one_object = log_odds.contiguous(), one_object.contiguous()
    flip = None if flip is None else flip.contiguous()
    shown, least = torch.empty(log_odds.shape, dtype=torch.uint8), torch.tensor(object_log_odds)
    sizes = batch, channels, height * width
    call(library.choose_objects, log_odds, last_frame, last_frame.stride(0), one_object, flip, least, shown, *sizes)
    return shown


@choose_objects.register_fake
def _(log_odds: Tensor, last_frame: Tensor, *rest: object) -> Tensor:
    return torch.empty_like(last_frame, memory_format=torch.contiguous_format)
