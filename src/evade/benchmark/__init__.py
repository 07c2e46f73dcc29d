"""How fast this machine fits and dreams: real steps timed against its matrix peak and against a plain network."""

from evade.benchmark.options import Options
from evade.benchmark.run import run_benchmark

__all__ = ["Options", "run_benchmark"]
