"""EVaDE-SimPLe: event-based variational Thompson sampling for model-based reinforcement learning.

Importing this package loads neither torch nor a game; import the part you need, for instance `evade.layers`. It does
register the package's environments with Gymnasium, so that `gymnasium.make("evade/MinAtar-Breakout-v0")` works. What is
public is `load` and the modules in `PUBLIC_MODULES`; everything else may change in any version.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import gymnasium

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

# A copy of the documented games of `evade.envs.games`, which importing the layers alone must not load.
_GAMES = {
    "MinAtar": "Asterix Breakout Freeway Seaquest SpaceInvaders",
    "MiniGrid": "DoorKey-5x5 DoorKey-6x6 DoorKey-8x8 Empty-8x8 LavaGapS6 FourRooms UnlockPickup",
    "DeepSea": "10 14 20 30",
    "Atari": "Alien Amidar Assault Asterix BankHeist BattleZone Boxing Breakout ChopperCommand CrazyClimber "
    "DemonAttack Freeway Frostbite Gopher Hero JamesBond Kangaroo Krull KungFuMaster MsPacman Pong PrivateEye Qbert "
    "RoadRunner Seaquest UpNDown",
}


def _register_environments() -> None:
    """Register the dream of a run, any game by its name, and each documented game with Gymnasium."""
    gymnasium.register("evade/Dream-v0", entry_point="evade.training.load:make_dream")
    gymnasium.register("evade/Game-v0", entry_point="evade.envs.single:GameEnv")
    for family, names in _GAMES.items():
        for name in names.split():
            game = f"{family.lower()}/{name}"
            gymnasium.register(
                f"evade/{family}-{name}-v0", entry_point="evade.envs.single:GameEnv", kwargs={"game": game}
            )


_register_environments()


def __getattr__(name: str) -> Any:
    # Here and not above, so that `import evade.layers` does not wait for everything else.
    if name == "load":
        from evade.training.load import load_run

        return load_run
    raise AttributeError(f"module 'evade' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
