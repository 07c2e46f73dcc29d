"""The most that this machine multiplies: products of square matrices, the ceiling for every network."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from evade.benchmark.cases import Case
from evade.benchmark.contenders import Precision


@dataclass(frozen=True)
class Product:
    """One size of matrix product to time."""

    precision: Precision
    threads: int
    rows: int

    @property
    def flops(self) -> float:
        """Multiplications and additions of `rows` x `rows` by `rows` x `rows`."""
        return 2.0 * self.rows**3


Ceiling = tuple[Precision, int]
"""A peak belongs to a precision and a number of threads."""


def plan_products(cases: Iterable[Case], sizes: Sequence[int]) -> list[Product]:
    """The products behind every precision and number of threads that the cases use."""
    ceilings = dict.fromkeys((case.contender.precision, case.threads) for case in cases)
    return [Product(precision, threads, rows) for precision, threads in ceilings for rows in sizes]


def prepare_product(product: Product) -> Callable[[], object]:
    """Matrices of noise and a place for their product, made once."""
    dtype: torch.dtype = getattr(torch, product.precision)
    left, right = torch.randn(2, product.rows, product.rows).to(dtype)
    result = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=result)


def find_peaks(seconds: Mapping[Product, float]) -> dict[Ceiling, float]:
    """The best FLOP/s over the sizes, for each precision and number of threads."""
    peaks: dict[Ceiling, float] = {}
    for product, taken in seconds.items():
        ceiling = (product.precision, product.threads)
        peaks[ceiling] = max(peaks.get(ceiling, 0.0), product.flops / taken)
    return peaks
