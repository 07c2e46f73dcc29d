"""Learning rates by the number of updates: T2T SimPLe's schedules."""

from collections.abc import Callable

Schedule = Callable[[int], float]
"""From the number of updates so far to the learning rate of the next update."""


def warmup_rsqrt(constant: float, warmup: int) -> Schedule:
    """Linear warm-up, then constant / sqrt(update): the deterministic model's schedule."""
    return lambda update: constant * min(1.0, update / warmup) / max(update, warmup) ** 0.5


def warmup_constant(constant: float, warmup: int) -> Schedule:
    """Linear warm-up, then constant: the stochastic model's schedule."""
    return lambda update: constant * min(1.0, update / warmup)
