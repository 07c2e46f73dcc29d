"""The optimisers of the original program, and the guarded step around them."""

from evade.optimisers.adafactor import Adafactor, Schedule, warmup_constant, warmup_rsqrt
from evade.optimisers.adam import TensorFlowAdam
from evade.optimisers.state import optimiser_numbers, optimiser_tensors, restore_optimiser
from evade.optimisers.step import step

__all__ = [
    "Adafactor",
    "Schedule",
    "TensorFlowAdam",
    "optimiser_numbers",
    "optimiser_tensors",
    "restore_optimiser",
    "step",
    "warmup_constant",
    "warmup_rsqrt",
]
