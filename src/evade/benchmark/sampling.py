"""Interleaved sampling, and summaries of samples."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Key = TypeVar("Key")

OnPart = Callable[[str, int, int], None]
"""Called after each part of a benchmark with its name, the number of parts completed, and their total."""


@dataclass(frozen=True)
class Summary:
    """Median and spread of repeated samples of one quantity."""

    median: float
    minimum: float
    lower_quartile: float
    upper_quartile: float
    maximum: float
    repeats: int


def summarise(samples: Sequence[float]) -> Summary:
    """Median, extremes and quartiles (by linear interpolation)."""
    minimum, lower, median, upper, maximum = (float(x) for x in np.quantile(samples, (0, 0.25, 0.5, 0.75, 1)))
    return Summary(median, minimum, lower, upper, maximum, len(samples))


def interleave(
    samplers: Mapping[Key, Callable[[], float]], rounds: int, on_sample: Callable[[Key], object] = lambda _: None
) -> dict[Key, list[float]]:
    """Take one sample from every sampler in each round.

    A temporary slowdown of the machine then affects all of them alike instead of a single one.

    Args:
        samplers: each takes one sample and returns it.
        rounds: number of samples of each.
        on_sample: called with the key after each sample.
    """
    samples: dict[Key, list[float]] = {key: [] for key in samplers}
    for _ in range(rounds):
        for key, sample in samplers.items():
            samples[key].append(sample())
            on_sample(key)
    return samples


def time_once(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compute_joint_rate(stamps: Sequence[Sequence[float]]) -> float:
    """Loops per second of several processes together, while all of them were running.

    Args:
        stamps: for each process, by one clock, its start time and the end time of each of its loops.

    Returns:
        The sum of the processes' rates between the last start and the first end; loops that lie partly in that time
        count partly.
    """
    begin, end = max(each[0] for each in stamps), min(each[-1] for each in stamps)
    loops = sum(float(np.diff(np.interp((begin, end), each, np.arange(len(each))))[0]) for each in stamps)
    return loops / (end - begin)
