"""`next_frame.predict_objects` by a compiled loop, one dream at a time.

By tensors each of its ten comparisons passes all cells of all dreams through memory: an eighth of a dream step of
MinAtar's Seaquest. The loop is `object_choice.cpp` (compiled by `evade.native`); its result is the same.
"""

from collections.abc import Sequence
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
    log_odds: Tensor,
    last_frame: Tensor,
    one_object: Tensor,
    flip: Tensor | None,
    probability: Tensor | None,
    share: Tensor | None,
    excess: Tensor | None,
    limits: Sequence[float],
) -> Tensor:
    """The next frame, uint8 `[B, C, H, W]`.

    Args:
        log_odds: float32 `[B, C, H, W]`.
        last_frame: uint8 `[B, C, H, W]` of 0 and 1.
        one_object: bool `[C, C]`.
        flip: float32 `[B]`: in each dream, cells of log-odds below it in size take the less likely value. None: none.
        probability: of `log_odds`, if each object goes to one place; it, `share` and `excess` are None otherwise.
        share: float32 `[B]`, what decides where.
        excess: float32 `[3, C]`, of more objects in log-odds and as a factor of the odds, and of fewer as a factor.
        limits: the log-odds above which the most likely cell of a channel that was not empty is on, those of what is
            certain, and the `least` of `move_objects`.
    """
    library = load_library(SOURCE)
    assert library is not None, "ask can_choose first"
    # The loop would read whatever memory a wrong type or shape leads to.
    batch, channels = log_odds.shape[:2]
    assert last_frame.shape == log_odds.shape, "one shape"
    assert last_frame.dtype == torch.uint8, "bytes"
    assert one_object.shape == (channels, channels), "one row for each channel"
    assert one_object.dtype == torch.bool, "bytes of 0 and 1"
    shapes = (batch,), log_odds.shape, (batch,), (3, channels)
    for numbers, shape in zip((flip, probability, share, excess), shapes, strict=True):
        assert numbers is None or (numbers.shape == shape and numbers.dtype == torch.float32), "float32"
    assert (probability is None) == (share is None) == (excess is None), "together"
    assert share is None or flip is not None, "new objects are decided by themselves"
    last_frame = with_whole_rows(last_frame)
    # Named, so that copies live until the call is over.
    given = [None if each is None else each.contiguous() for each in (one_object, flip, probability, share, excess)]
    log_odds, bounds = log_odds.contiguous(), torch.tensor(limits)
    shown = torch.empty(log_odds.shape, dtype=torch.uint8)
    call(library.choose_objects, log_odds, last_frame, last_frame.stride(0), *given, bounds, shown, *log_odds.shape)
    return shown


@choose_objects.register_fake
def _(log_odds: Tensor, last_frame: Tensor, *rest: object) -> Tensor:
    return torch.empty_like(last_frame, memory_format=torch.contiguous_format)
