"""Samples taken in turn, and what is said of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Key = TypeVar("Key")


@dataclass(frozen=True)
class Summary:
    """A sample of one quantity: its median, and how far the repeats lie apart."""

    median: float
    minimum: float
    lower_quartile: float
    upper_quartile: float
    maximum: float
    repeats: int


def summarise(samples: Sequence[float]) -> Summary:
    """Median, extremes and quartiles (between neighbours by linear interpolation)."""
    minimum, lower, median, upper, maximum = (float(x) for x in np.quantile(samples, (0, 0.25, 0.5, 0.75, 1)))
    return Summary(median, minimum, lower, upper, maximum, len(samples))


def interleave(
    works: Mapping[Key, Callable[[], float]], rounds: int, passed: Callable[[Key], object] = lambda _: None
) -> dict[Key, list[float]]:
    """Take one sample of every work, then a second one of every work, and so on.

    Whatever slows the machine down for a while then hits all works alike, instead of the one that was its turn.

    Args:
        works: each measures itself once and returns the sample.
        rounds: samples of each.
        passed: told each key after its sample.
    """
    samples: dict[Key, list[float]] = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            samples[key].append(work())
            passed(key)
    return samples


def time_once(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rate_in_common(stamps: Sequence[Sequence[float]]) -> float:
    """Turns per second of several processes together, while all of them were at work.

    Args:
        stamps: for each process, by one clock, when it began and when each of its turns ended.

    Returns:
        The sum of the processes' rates between the last one's beginning and the first one's end; a turn that lies
        partly in that time counts partly.
    """
    begin, end = max(each[0] for each in stamps), min(each[-1] for each in stamps)
    turns = sum(float(np.diff(np.interp((begin, end), each, np.arange(len(each))))[0]) for each in stamps)
    return turns / (end - begin)
