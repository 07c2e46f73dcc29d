"""Reading a plan: a PLAN.toml, the words of the command line, or both. No torch here."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from evade.config import flatten
from evade.envs.games import ATARI_100K, DEEPSEA, MINATAR, MINIGRID, Game, resolve
from evade.errors import PlanError
from evade.sweeps.plan import SweepPlan
from evade.vocabulary.variants import VARIANTS

SUITES: dict[str, tuple[Game, ...]] = {
    "minatar": MINATAR,
    "minigrid": MINIGRID,
    "deepsea": DEEPSEA,
    "atari100k": ATARI_100K,
}
"""Names that stand for several games."""

Settings: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of settings, each with the values to try."""


def read_document(path: Path) -> dict[str, Any]:
    """The content of a PLAN.toml, for `plan_from`.

    Raises:
        PlanError: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise PlanError(f"{path} cannot be read as a plan ({error}).") from None


def plan_from(document: Mapping[str, Any]) -> SweepPlan:
    """The plan of a document with the entries of `SweepPlan`; lists may be written as text with commas.

    Raises:
        PlanError: an entry is unknown or cannot be understood.
    """
    readers: dict[str, Callable[[Any], Any]] = {
        "preset": str,
        "games": lambda value: _expand_games(_words(value)),
        "variants": lambda value: _expand_variants(_words(value)),
        "seeds": lambda value: _read_seeds(_words(value)),
        "settings": _read_settings,
    }
    unknown = [name for name in document if name not in readers]
    if unknown:
        raise PlanError(f"the plan has no {', '.join(unknown)}: its entries are {', '.join(readers)}.")
    return SweepPlan(**{name: readers[name](value) for name, value in document.items()})


def _words(value: Any) -> list[str]:
    words = value.split(",") if isinstance(value, str) else _listed(value)
    return [str(word).strip() for word in words]


def _expand_games(names: Iterable[str]) -> tuple[str, ...]:
    """The canonical names of games; a suite's name stands for all its games, and no game comes twice."""
    games = [game for name in names for game in (SUITES.get(name.lower()) or (resolve(name),))]
    return tuple(dict.fromkeys(game.name for game in games))


def _expand_variants(names: Iterable[str]) -> tuple[str, ...]:
    """Names of variants; `all` stands for every one there is."""
    return tuple(dict.fromkeys(each for name in names for each in (VARIANTS if name == "all" else (name,))))


def _read_seeds(parts: Iterable[str]) -> tuple[int, ...]:
    """Seeds from numbers and ranges such as `1-5`."""
    seeds: list[int] = []
    for part in parts:
        first, dash, last = part.partition("-")
        numbers = [text.strip() for text in ((first, last) if dash else (first, first))]
        if not all(text.isascii() and text.isdecimal() for text in numbers):
            raise PlanError(f"Invalid seeds {part!r}: write numbers and ranges, such as 1-5 or 1,3,7-9.")
        seeds += range(int(numbers[0]), int(numbers[1]) + 1)
    return tuple(dict.fromkeys(seeds))


def _read_settings(settings: Any) -> Settings:
    """Settings to vary, from a section, or from words such as `world_model.reward.sigma_init=0.5,1.0`."""
    pairs = flatten(settings) if isinstance(settings, dict) else dict(map(_split_setting, _listed(settings)))
    return tuple((_setting_name(name), tuple(map(_as_text, _listed(values)))) for name, values in pairs.items())


def _split_setting(word: str) -> tuple[str, list[str]]:
    name, _, values = word.partition("=")
    if not name or not values:
        raise PlanError(f"Invalid --set {word!r}: write SECTION.FIELD=VALUE[,VALUE...].")
    return name, [value.strip() for value in values.split(",")]


def _setting_name(name: str) -> str:
    name = name.strip().replace("-", "_")
    if "." not in name:
        raise PlanError(
            f"Invalid setting {name!r}: write SECTION.FIELD; game, variant and seed have flags of their own."
        )
    return name


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _as_text(value: Any) -> str:
    """A value as it is written on the command line: a list's elements apart, truth in lower case."""
    if isinstance(value, list | tuple):
        return " ".join(map(_as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
