import pytest
import torch

from evade.benchmark.cases import Case
from evade.benchmark.contenders import BFLOAT16, FLOAT32, PLAIN
from evade.benchmark.peak import Product, find_peaks, plan_products, prepare_product


def test_a_peak_is_the_best_of_its_sizes():
    seconds = {
        Product("float32", 1, 1000): 0.1,  # 20 GFLOP/s
        Product("float32", 1, 2000): 0.4,  # 40 GFLOP/s
        Product("float32", 2, 1000): 0.05,
        Product("bfloat16", 1, 1000): 0.025,
    }
    peaks = find_peaks(seconds)
    assert peaks == {
        ("float32", 1): pytest.approx(40e9),
        ("float32", 2): pytest.approx(40e9),
        ("bfloat16", 1): pytest.approx(80e9),
    }


def test_every_precision_and_number_of_threads_in_use_has_its_products():
    cases = [
        Case("minatar", "fit", "evade", 4, (10, 10), each, threads)
        for each, threads in [(PLAIN, 1), (FLOAT32, 1), (FLOAT32, 2), (BFLOAT16, 2)]
    ]
    found = {(product.precision, product.threads, product.rows) for product in plan_products(cases, (8, 16))}
    assert found == {(*each, rows) for each in [("float32", 1), ("float32", 2), ("bfloat16", 2)] for rows in (8, 16)}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_product_is_computed_in_its_precision(precision):
    result = prepare_product(Product(precision, 1, 16))()
    assert result.shape == (16, 16)
    assert result.dtype == getattr(torch, precision)
