"""Adafactor as the original program runs it, with its learning-rate schedules.

`torch.optim.Adafactor` is not that: it factors convolution kernels over rows and columns of the filter, and caps
the learning rate.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

DECAY_EXPONENT = 0.8
SQUARE_FLOOR = 1e-30
PARAMETER_SCALE_FLOOR = 1e-3
"""Constants of the original, which are also the Adafactor paper's (Shazeer and Stern 2018)."""

Schedule = Callable[[int], float]
"""From the number of updates made so far to the next update's learning rate."""


def warmup_rsqrt(constant: float, warmup: int) -> Schedule:
    """Linear warm-up, then constant / sqrt(update): the deterministic model's schedule."""
    return lambda update: constant * min(1.0, update / warmup) / max(update, warmup) ** 0.5


def warmup_constant(constant: float, warmup: int) -> Schedule:
    """Linear warm-up, then constant: the stochastic model's schedule."""
    return lambda update: constant * min(1.0, update / warmup)


class Adafactor(torch.optim.Optimizer):
    """Factored second moments, updates clipped to RMS 1 and scaled by each variable's own RMS; no momentum.

    Variables with two or more axes keep one running mean over the first and one over the second axis (which are
    the channels in and out, for every tap of a convolution) instead of one moment for every weight.

    Args:
        parameters: what to train.
        schedule: the relative learning rate by number of updates made.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], schedule: Schedule) -> None:
        super().__init__(parameters, {"num_updates": 0})
        self.schedule = schedule

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # a closure is never needed here
        """Make one update from the gradients in place."""
        for group in self.param_groups:
            made = group["num_updates"]
            decay = 1 - (made + 1) ** -DECAY_EXPONENT
            for parameter in group["params"]:
                if parameter.grad is not None:
                    update = _normalise(parameter.grad, self.state[parameter], decay)
                    update /= _rms(update).clamp_min(1.0)
                    scale = _rms(parameter).clamp_min(PARAMETER_SCALE_FLOOR) * self.schedule(made)
                    parameter -= update * scale
            group["num_updates"] = made + 1


def _rms(x: Tensor) -> Tensor:
    return x.square().mean().sqrt()


def _normalise(gradient: Tensor, state: dict[str, Tensor], decay: float) -> Tensor:
    """Divide a gradient by its running root mean square, after adding it to the running means."""
    square = gradient.square() + SQUARE_FLOOR
    if gradient.dim() < 2:
        return gradient * _running(state, "moment", square, decay).rsqrt()
    over_second = _running(state, "over_second", square.mean(1), decay)
    over_first = _running(state, "over_first", square.mean(0), decay)
    first_factor = (over_second / over_second.mean(0, keepdim=True)).rsqrt().unsqueeze(1)
    return gradient * first_factor * over_first.rsqrt().unsqueeze(0)


def _running(state: dict[str, Tensor], name: str, value: Tensor, decay: float) -> Tensor:
    if name not in state:
        state[name] = torch.zeros_like(value)
    return state[name].lerp_(value, 1 - decay)
