"""`evade benchmark`: timing against the matrix peak and a plain network; comparison of bfloat16 with float32."""

from evade.benchmark.options import Options
from evade.benchmark.run import run_benchmark

__all__ = ["Options", "run_benchmark"]
