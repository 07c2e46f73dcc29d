"""EVaDE-SimPLe: event-based variational Thompson sampling for model-based reinforcement learning.

Importing this package loads neither torch nor a game; import the part you need, for instance `evade.layers`. What is
public is `load` and the modules in `PUBLIC_MODULES`; everything else may change in any version.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evade.training.load import load_run as load

__version__ = version("evade")

__all__ = ["PUBLIC_MODULES", "__version__", "load"]

PUBLIC_MODULES: tuple[str, ...] = (
    "evade",
    "evade.layers",
    "evade.training.load",
    "evade.config",
    "evade.config.presets",
    "evade.envs",
    "evade.interfaces",
    "evade.records",
    "evade.game_spec",
    "evade.world_models.build",
    "evade.policies.build",
    "evade.vocabulary.variants",
    "evade.vocabulary.metrics",
    "evade.evidence.results",
    "evade.evidence.stats",
    "evade.evidence.published",
    "evade.interop",
    "evade.errors",
)
"""The modules whose names keep their meaning within a minor version; the changelog lists changes."""


def __getattr__(name: str) -> Any:
    # Here and not above, so that `import evade.layers` does not wait for everything else.
    if name == "load":
        from evade.training.load import load_run

        return load_run
    raise AttributeError(f"module 'evade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
