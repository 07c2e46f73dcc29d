"""EVaDE-SimPLe: event-based variational Thompson sampling for model-based reinforcement learning.

Importing this package loads neither torch nor a game; import the part you need, for instance `evade.layers`.
"""

from importlib.metadata import version

__version__ = version("evade")

__all__ = ["__version__"]
