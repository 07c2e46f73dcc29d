"""The optimisers of T2T SimPLe, one update with checks, and saving their state."""

from evade.optimisers.adafactor import Adafactor
from evade.optimisers.adam import TensorFlowAdam
from evade.optimisers.schedules import Schedule, warmup_constant, warmup_rsqrt
from evade.optimisers.state import SavedOptimiser, optimiser_tensors, optimiser_values, restore_optimiser
from evade.optimisers.update import update

__all__ = [
    "Adafactor",
    "SavedOptimiser",
    "Schedule",
    "TensorFlowAdam",
    "optimiser_tensors",
    "optimiser_values",
    "restore_optimiser",
    "update",
    "warmup_constant",
    "warmup_rsqrt",
]
