"""The machine's peak rate of floating-point operations, measured by products of square matrices."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from evade.benchmark.cases import Case
from evade.benchmark.contenders import Precision


@dataclass(frozen=True)
class Product:
    """A matrix product to time."""

    precision: Precision
    threads: int
    rows: int

    @property
    def flops(self) -> float:
        """Multiplications and additions of `rows` x `rows` by `rows` x `rows`."""
        return 2.0 * self.rows**3


Ceiling = tuple[Precision, int]
"""Precision and number of threads of a peak."""


def plan_products(cases: Iterable[Case], sizes: Sequence[int]) -> list[Product]:
    """The products to time for every precision and number of threads among the cases."""
    ceilings = dict.fromkeys((case.contender.precision, case.threads) for case in cases)
    return [Product(precision, threads, rows) for precision, threads in ceilings for rows in sizes]


def prepare_product(product: Product) -> Callable[[], object]:
    """Allocate random matrices and the output; the returned function multiplies them."""
    dtype: torch.dtype = getattr(torch, product.precision)
    left, right = torch.randn(2, product.rows, product.rows).to(dtype)
    result = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=result)


def find_peaks(seconds: Mapping[Product, float]) -> dict[Ceiling, float]:
    """The highest FLOP/s over all sizes, for each precision and number of threads."""
    peaks: dict[Ceiling, float] = {}
    for product, taken in seconds.items():
        ceiling = (product.precision, product.threads)
        peaks[ceiling] = max(peaks.get(ceiling, 0.0), product.flops / taken)
    return peaks
