"""The known games, their names, and the protocol that each family of games is played by."""

import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Literal

import gymnasium

from evade.envs.settings import EnvConfig
from evade.errors import ImportRefused, UnknownGame

PREPROCESSING_VERSION = 1
"""Incremented whenever the same game, settings, seed and actions would give other frames, rewards or lengths of games,
so that scores cannot be compared."""

OWN_NAMESPACE = "evade/"
"""How the Gymnasium ids begin that this package registers (`evade/__init__.py`)."""

Kind = Literal["atari", "minatar", "minigrid", "deepsea", "gymnasium"]
"""The families of games; `evade.envs.make` has the builder of each."""


@dataclass(frozen=True)
class Game:
    """One game, independent of the spelling it was requested by."""

    kind: Kind
    id: str
    """Atari: the ROM (`ms_pacman`); MinAtar: the module (`breakout`); MiniGrid: the id without prefix and `-v0`
    (`DoorKey-5x5`); DeepSea: the size, and the puzzle unless it is 0 (`20`, `20-3`); otherwise `Id-v0` or
    `module:Id-v0`."""
    title: str
    """For tables and figures; for the Atari 100K games the paper's spelling."""

    @property
    def name(self) -> str:
        """The canonical name, used in commands, folders and tables: `atari/ms_pacman`."""
        return self.id if self.kind == "gymnasium" else f"{self.kind}/{self.id}"

    @property
    def ale_id(self) -> str:
        """The Gymnasium id of an Atari game: `ALE/MsPacman-v5`."""
        return f"ALE/{_join_words(self.id)}-v5"

    @property
    def minigrid_id(self) -> str:
        """The Gymnasium id of a MiniGrid game: `MiniGrid-DoorKey-5x5-v0`."""
        return f"MiniGrid-{self.id}" if _VERSION.search(self.id) else f"MiniGrid-{self.id}-v0"


_VERSION = re.compile(r"-v\d+$")


def _join_words(snake: str) -> str:
    return snake.title().replace("_", "")


ATARI_100K: tuple[Game, ...] = tuple(
    Game("atari", rom, title)
    for title, rom in {
        "Alien": "alien",
        "Amidar": "amidar",
        "Assault": "assault",
        "Asterix": "asterix",
        "BankHeist": "bank_heist",
        "BattleZone": "battle_zone",
        "Boxing": "boxing",
        "Breakout": "breakout",
        "ChopperCommand": "chopper_command",
        "CrazyClimber": "crazy_climber",
        "DemonAttack": "demon_attack",
        "Freeway": "freeway",
        "Frostbite": "frostbite",
        "Gopher": "gopher",
        "Hero": "hero",
        "JamesBond": "jamesbond",
        "Kangaroo": "kangaroo",
        "Krull": "krull",
        "KungFuMaster": "kung_fu_master",
        "MsPacman": "ms_pacman",
        "Pong": "pong",
        "PrivateEye": "private_eye",
        "Qbert": "qbert",
        "RoadRunner": "road_runner",
        "Seaquest": "seaquest",
        "UpNDown": "up_n_down",
    }.items()
)
"""The 26 games of the paper's tables, in the paper's order."""

MINATAR: tuple[Game, ...] = tuple(
    Game("minatar", module, _join_words(module))
    for module in ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
)
"""All five MinAtar games."""

MINIGRID: tuple[Game, ...] = tuple(
    Game("minigrid", name, title=name)
    for name in ("DoorKey-5x5", "DoorKey-6x6", "DoorKey-8x8", "Empty-8x8", "LavaGapS6", "FourRooms", "UnlockPickup")
)
"""The documented MiniGrid games; all others that the package registers are known by the same kind of name."""

DEEPSEA: tuple[Game, ...] = tuple(Game("deepsea", f"{size}", title=f"DeepSea-{size}") for size in (10, 14, 20, 30))
"""The documented DeepSea games; every size from 2 to 50 is known."""


@dataclass(frozen=True)
class Protocol:
    """How a game is played, with all defaults resolved; the fields are those of `EnvConfig`."""

    frame_size: tuple[int, int] | None
    """None keeps the game's own size."""
    frame_skip: int
    max_noops: int
    time_limit: int | None
    """None: no limit but the game's own."""
    reward_range: tuple[int, int]
    grey_levels: int | None = None
    """None keeps the game's own colours."""


PROTOCOLS: dict[Kind, Protocol] = {
    # T2T SimPLe. Its limit was Gym's: 400,000 frames, which are 100,000 steps of 4.
    "atari": Protocol(frame_size=(105, 80), frame_skip=4, max_noops=8, time_limit=100_000, reward_range=(-1, 1)),
    # Ours. No-ops would lose the ball in Breakout before the agent acts, and the games are random by themselves.
    # A good player's game may never end, so a limit is needed; Freeway's own is 2,500. No reward is negative.
    "minatar": Protocol(frame_size=None, frame_skip=1, max_noops=0, time_limit=5_000, reward_range=(0, 1)),
    # Ours. Both have their own step limit, no no-op and no negative reward.
    "minigrid": Protocol(frame_size=None, frame_skip=1, max_noops=0, time_limit=None, reward_range=(0, 1)),
    "deepsea": Protocol(frame_size=None, frame_skip=1, max_noops=0, time_limit=None, reward_range=(0, 1)),
    # Ours. Nothing is known of the game: action 0 need not be a no-op, and it may have its own time limit.
    "gymnasium": Protocol(frame_size=None, frame_skip=1, max_noops=0, time_limit=None, reward_range=(-1, 1)),
}


def choose_protocol(game: Game, config: EnvConfig) -> Protocol:
    """The protocol of the game's family, overridden by all settings that are not None."""
    fields = ("frame_size", "grey_levels", "frame_skip", "max_noops", "time_limit", "reward_range")
    chosen = {field: getattr(config, field) for field in fields}
    return replace(PROTOCOLS[game.kind], **{field: value for field, value in chosen.items() if value is not None})


def resolve(name: str) -> Game:
    """Find a game by any of its names, or raise `UnknownGame` with suggestions.

    Case, spaces and underscores are ignored in `atari/ms_pacman`, `ALE/MsPacman-v5`, `MsPacmanNoFrameskip-v4`,
    `minatar/breakout`, `MinAtar/Breakout-v1`, `minigrid/DoorKey-5x5`, `MiniGrid-DoorKey-5x5-v0` and `deepsea/20`. Each
    of them means the game played by *our* protocol, not by the settings the id stands for elsewhere. Any other
    Gymnasium id must be spelt exactly; `module:Id-v0` imports the module first, so that it can register the
    environment.
    """
    if ":" in name:
        _import_module_of(name)
    known = {_fold(form): game for game in _known_games(name) for form in _forms(game)}
    game = known.get(_fold(name)) or _find_deepsea(name)
    # Our own ids are forms of known games, apart from dreams, which are no games.
    if game is None and name.rpartition(":")[2] in gymnasium.registry and not name.startswith(OWN_NAMESPACE):
        game = Game("gymnasium", name, title=name.rpartition(":")[2])
    if game is None:
        raise UnknownGame(_describe_unknown(name))
    return game


def parse_deepsea(game_id: str) -> tuple[int, int]:
    """Size and puzzle of a DeepSea game: `20` is (20, 0), `20-3` is (20, 3)."""
    size, _, puzzle = game_id.partition("-")
    return int(size), int(puzzle or 0)


def _find_deepsea(name: str) -> Game | None:
    match = re.fullmatch(r"deepsea/(\d+)(?:-(\d+))?", _fold(name))
    if match is None:
        return None
    size, puzzle = int(match[1]), int(match[2] or 0)
    if not 2 <= size <= 50 or puzzle >= 2**32:
        raise UnknownGame(f"Unknown game {name!r}: give deepsea/N or deepsea/N-PUZZLE with a size N from 2 to 50.")
    game_id = f"{size}-{puzzle}" if puzzle else f"{size}"
    return Game("deepsea", game_id, title=f"DeepSea-{game_id}")


def check_import(name: str, allowed: Collection[str]) -> None:
    """Refuse a game from a document that would import a module nobody allowed.

    Args:
        name: the game's, from a file that may come from anybody.
        allowed: modules that may be imported, those inside them included.

    Raises:
        ImportRefused: the name is `MODULE:ID`, and MODULE is neither allowed nor loaded already.
    """
    module = name.rpartition(":")[0]
    if not module or module in sys.modules or any(f"{module}.".startswith(f"{each}.") for each in allowed):
        return
    raise ImportRefused(
        f"The run's game {name!r:.200} would import the module {module!r:.100}, which runs its code: if you trust it, "
        f"allow it with --allow-import {module:.100}, or in Python with load(path, allow_import=[{module!r:.100}])."
    )


def _import_module_of(name: str) -> None:
    module = name.rpartition(":")[0]
    try:
        import_module(module)
    except Exception as error:  # whatever the module's own code raises
        raise UnknownGame(
            f"Unknown game {name!r}: importing {module!r} failed ({type(error).__name__}: {error}). "
            "Give MODULE:ID with a module on Python's path that registers the environment."
        ) from error


def _known_games(name: str) -> Iterator[Game]:
    """The documented suites always; all other games of an installed package that may be meant by `name`."""
    yield from (*ATARI_100K, *MINATAR, *MINIGRID, *DEEPSEA)
    yield from _more_atari()
    if "minigrid" in _fold(name):  # its import takes half a second
        yield from _more_minigrid()


def _more_atari() -> Iterator[Game]:
    try:
        import_module("ale_py")  # registers its games with Gymnasium
    except ModuleNotFoundError:
        return
    famous = {game.id for game in ATARI_100K}
    for env_id, registered in gymnasium.registry.items():
        rom = registered.kwargs.get("game")
        if env_id.startswith("ALE/") and isinstance(rom, str) and rom not in famous:
            yield Game("atari", rom, title=_join_words(rom))


def _more_minigrid() -> Iterator[Game]:
    try:
        import_module("minigrid")  # registers its games with Gymnasium
    except ModuleNotFoundError:
        return
    documented = {game.id for game in MINIGRID}
    for env_id in gymnasium.registry:
        name = env_id.removeprefix("MiniGrid-").removesuffix("-v0")
        if env_id.startswith("MiniGrid-") and name not in documented:
            yield Game("minigrid", name, title=name)


def _forms(game: Game) -> tuple[str, ...]:
    """Every spelling of a game, before `_fold`."""
    own_id = f"{OWN_NAMESPACE}{game.kind}-{game.id}-v0"
    if game.kind == "atari":
        ale = _join_words(game.id)
        old_ids = (f"{ale}{skip}-{version}" for skip in ("", "NoFrameskip") for version in ("v0", "v4"))
        return (game.name, f"atari/{game.title}", game.ale_id, own_id, *old_ids)
    if game.kind == "minigrid":
        return (game.name, f"{game.name}-v0", game.minigrid_id, own_id)
    return (game.name, f"{game.name}-v0", f"{game.name}-v1", own_id)


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


def _describe_unknown(name: str) -> str:
    names: dict[str, list[str]] = {}
    for game in _known_games(name):
        for form in (*_forms(game), game.id, game.title):
            names.setdefault(_fold(form), []).append(game.name)
    # A known game's Gymnasium id is not suggested a second time.
    for env_id in gymnasium.registry:
        if not env_id.startswith(OWN_NAMESPACE):
            names.setdefault(_fold(env_id), [env_id])
    near = get_close_matches(_fold(name), names, n=3)
    # Drop repetitions, keep the order.
    suggested = list(dict.fromkeys(suggestion for form in near for suggestion in names[form]))[:3]
    question = f"did you mean {' or '.join(suggested)}? " if suggested else ""
    return (
        f"Unknown game {name!r}: {question}Give atari/NAME, minatar/NAME, minigrid/NAME, deepsea/N, or the id of a "
        "Gymnasium environment (MODULE:ID if importing MODULE registers it)."
    )
