"""`evade benchmark`: a run's steps timed against the machine's matrix peak and a plain network; bfloat16 against float32."""

from evade.benchmark.options import Options
from evade.benchmark.run import run_benchmark

__all__ = ["Options", "run_benchmark"]
