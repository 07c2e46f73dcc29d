"""Adam as TensorFlow computes it, with T2T SimPLe's constants."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from evade.optimisers.schedules import Schedule

BETAS = (0.85, 0.997)
EPSILON = 1e-6
"""T2T SimPLe's defaults for every policy."""


class TensorFlowAdam(torch.optim.Adam):
    """Adam with epsilon added to the root of the *uncorrected* second moment.

    PyTorch adds epsilon after the bias correction, so the same formula needs an epsilon that shrinks over the first
    updates: epsilon / sqrt(1 - beta2 ** update). With beta2 = 0.997 it starts 18 times larger, which makes the first
    updates from small gradients smaller.

    Args:
        parameters: to train; or groups of them, as torch takes them. In a group with a `decay`, each update multiplies
            the parameters by 1 - learning rate * decay, at least 0 (decoupled weight decay, Loshchilov and Hutter
            2019).
        learning_rate: the step size; with a schedule, of the first update.
        schedule: the learning rate by the number of updates so far; constant if None.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        learning_rate: float,
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(parameters, lr=learning_rate, betas=BETAS, eps=EPSILON, fused=True)
        self.schedule = schedule
        for group in self.param_groups:
            group["num_updates"] = 0

    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # a closure is never needed here
        """Make one update from the current gradients."""
        for group in self.param_groups:
            if self.schedule is not None:
                group["lr"] = self.schedule(group["num_updates"])
            group["num_updates"] += 1
            group["eps"] = EPSILON / math.sqrt(1 - BETAS[1] ** group["num_updates"])
        super().step(closure)
        with torch.no_grad():
            for group in self.param_groups:
                if "decay" in group:
                    torch._foreach_mul_(group["params"], max(0.0, 1 - group["lr"] * group["decay"]))
