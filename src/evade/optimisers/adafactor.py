"""Adafactor as in T2T SimPLe.

`torch.optim.Adafactor` differs: it factors convolution kernels over rows and columns of the filter, and caps the
learning rate.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from evade.optimisers.schedules import Schedule

DECAY_EXPONENT = 0.8
SQUARE_FLOOR = 1e-30
PARAMETER_SCALE_FLOOR = 1e-3
"""Constants of T2T SimPLe, the same as in the Adafactor paper (Shazeer and Stern 2018)."""


class Adafactor(torch.optim.Optimizer):
    """Factored second moments, updates clipped to RMS 1 and scaled by each variable's own RMS; no momentum.

    Variables with two or more axes have one running mean over the first and one over the second axis (input and output
    channels; separately for every position of a convolution's filter) instead of one moment for every weight.

    Args:
        parameters: to train.
        schedule: relative learning rate by the number of updates so far.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], schedule: Schedule) -> None:
        super().__init__(parameters, {"num_updates": 0})
        self.schedule = schedule

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # a closure is never needed here
        """Make one update from the current gradients."""
        for group in self.param_groups:
            made = group["num_updates"]
            decay = 1 - (made + 1) ** -DECAY_EXPONENT
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            if parameters:
                updates = self._normalise(parameters, decay)
                scale = _rms(parameters).clamp_min(PARAMETER_SCALE_FLOOR) * self.schedule(made)
                factors = scale / _rms(updates).clamp_min(1.0)
                torch._foreach_mul_(updates, factors.unbind())
                torch._foreach_sub_(parameters, updates)
            group["num_updates"] = made + 1

    def _normalise(self, parameters: list[Tensor], decay: float) -> list[Tensor]:
        """Add the gradients to the running mean squares, then divide them by their roots."""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        squares = torch._foreach_add(torch._foreach_mul(gradients, gradients), SQUARE_FLOOR)
        values = [_mean_squares(square) for square in squares]
        moments = [_moments(self.state[p], value) for p, value in zip(parameters, values, strict=True)]
        flat = [moment for each in moments for moment in each]
        torch._foreach_lerp_(flat, [value for each in values for value in each.values()], 1 - decay)
        return [gradient * _inverse_root(each) for gradient, each in zip(gradients, moments, strict=True)]


def _rms(tensors: list[Tensor]) -> Tensor:
    """The root mean square of each tensor, `[number of tensors]`."""
    return torch.stack([tensor.square().mean() for tensor in tensors]).sqrt()


def _mean_squares(square: Tensor) -> dict[str, Tensor]:
    """From a variable's squared gradient to the values its running means average."""
    if square.dim() < 2:
        return {"moment": square}
    return {"over_second": square.mean(1), "over_first": square.mean(0)}


def _moments(state: dict[str, Tensor], values: dict[str, Tensor]) -> list[Tensor]:
    for name, value in values.items():
        if name not in state:
            state[name] = torch.zeros_like(value)
    return [state[name] for name in values]


def _inverse_root(moments: list[Tensor]) -> Tensor:
    """One over the root of a variable's second moment, reconstructed from its factors if it has two."""
    if len(moments) == 1:
        return moments[0].rsqrt()
    over_second, over_first = moments
    first_factor = (over_second / over_second.mean(0, keepdim=True)).rsqrt().unsqueeze(1)
    return first_factor * over_first.rsqrt().unsqueeze(0)
