"""EVaDE-SimPLe: event-based variational Thompson sampling for model-based reinforcement learning.

Importing this package loads neither torch nor a game; import the part you need, for instance `evade.layers`.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evade.training.load import load_run as load

__version__ = version("evade")

__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    # Here and not above, so that `import evade.layers` does not wait for everything else.
    if name == "load":
        from evade.training.load import load_run

        return load_run
    raise AttributeError(f"module 'evade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
