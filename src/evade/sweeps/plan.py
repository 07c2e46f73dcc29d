"""A sweep as data: games x variants x seeds x settings, and the runs that follow from them. Pure; no torch here."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from evade.config import RunConfig, from_document, to_document
from evade.config.presets import DEFAULT_PRESET, build_config
from evade.errors import PlanError
from evade.runs.session import folder_of
from evade.vocabulary.variants import DEFAULT_VARIANT

Changes: TypeAlias = tuple[tuple[str, str], ...]
"""Changed settings: `section.field` and the value as it is written on the command line."""


@dataclass(frozen=True)
class SweepPlan:
    """What is asked for; every combination is one run."""

    preset: str = DEFAULT_PRESET
    games: tuple[str, ...] = ()
    """Canonical names; empty for the preset's own game."""
    variants: tuple[str, ...] = (DEFAULT_VARIANT,)
    seeds: tuple[int, ...] = (1,)
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of settings, each with the values to try."""

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits of everything above."""
        text = json.dumps([self.preset, self.games, self.variants, self.seeds, self.settings])
        return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep."""

    preset: str
    game: str
    variant: str
    seed: int
    changes: Changes
    folder: str
    """Its folder, relative to the runs folder."""
    iterations: int
    """Turns of Algorithm 1 that it must have when it is finished."""

    @property
    def title(self) -> str:
        """For people: game, variant, changed settings (but those of the machine) and seed."""
        learnt = [(name, value) for name, value in self.changes if not name.startswith("machine.")]
        changes = "".join(f" {name.rpartition('.')[2]}={value}" for name, value in learnt)
        return f"{self.game} {self.variant}{changes} seed {self.seed}"

    def words(self, runs_dir: Path) -> list[str]:
        """The command line after `evade` that trains this run, or resumes it."""
        identity = ["--game", self.game, "--seed", str(self.seed), "--runs-dir", str(runs_dir)]
        return ["train", self.preset, self.variant, *identity, *flags(self.changes)]


def expand(plan: SweepPlan) -> list[PlannedRun]:
    """All runs of a plan, seed by seed, so that early results cover all games and variants.

    Raises:
        PlanError: nothing is planned, or two combinations are the same run.
        UnknownPreset, UnknownGame, ConfigError: a name or value is not valid.
    """
    games = plan.games or (build_config(plan.preset).game,)
    changes = [_pair(plan, values) for values in product(*(values for _, values in plan.settings))]
    recipes = [_planned(plan, *recipe) for recipe in product(games, plan.variants, changes)]
    runs = [_with_seed(recipe, seed) for seed in plan.seeds for recipe in recipes]
    _check(runs)
    return runs


def _pair(plan: SweepPlan, values: Sequence[str]) -> Changes:
    return tuple((name, value) for (name, _), value in zip(plan.settings, values, strict=True))


def _planned(plan: SweepPlan, game: str, variant: str, changes: Changes) -> PlannedRun:
    config = configure(build_config(plan.preset, variant, game), changes)
    folder = folder_of(config, Path()).path
    return PlannedRun(plan.preset, config.game, variant, config.seed, changes, str(folder), config.schedule.iterations)


def _with_seed(run: PlannedRun, seed: int) -> PlannedRun:
    # The folder's name follows from the first seed's; computing it a thousand times takes seconds.
    folder = Path(run.folder)
    assert folder.name == f"seed-{run.seed}", folder
    return replace(run, seed=seed, folder=str(folder.with_name(f"seed-{seed}")))


def _check(runs: Sequence[PlannedRun]) -> None:
    if not runs:
        raise PlanError("the plan has no runs: name at least one variant and one seed.")
    seen: dict[str, PlannedRun] = {}
    for run in runs:
        first = seen.setdefault(run.folder, run)
        if first is not run:
            raise PlanError(f"{first.title!r} and {run.title!r} are the same run ({run.folder}): plan it once.")


def flags(changes: Changes) -> list[str]:
    """Changed settings as words of the command line; `16 32` is two words, `true` and `false` are switches."""
    words: list[str] = []
    for name, value in changes:
        section, _, field = name.replace("_", "-").rpartition(".")
        switches = {"true": f"--{section}.{field}", "false": f"--{section}.no-{field}"}
        if value.lower() in switches:
            words.append(switches[value.lower()])
        else:
            words += [f"--{section}.{field}" if section else f"--{field}", *value.split()]
    return words


_parsed: dict[tuple[str, Changes], dict[str, Any]] = {}
"""Values of changed settings by preset and text: parsing takes 0.1 s, too long for every run of a large plan."""


def configure(config: RunConfig, changes: Changes) -> RunConfig:
    """The settings with the changes in them, exactly as `evade train` would read them from its command line."""
    if not changes:
        return config
    key = (config.preset, changes)
    if key not in _parsed:
        _parsed[key] = _parse(config, changes)
    document = to_document(config)
    for name, value in _parsed[key].items():
        _section(document, name)[name.rpartition(".")[2]] = value
    return from_document(document)


def _parse(config: RunConfig, changes: Changes) -> dict[str, Any]:
    # The reader of `evade train` itself: a second one could read a value differently and plan another folder.
    import tyro

    document = to_document(tyro.cli(RunConfig, default=config, args=flags(changes), prog="evade sweep --set"))
    return {name: _section(document, name)[name.rpartition(".")[2]] for name, _ in changes}


def _section(document: dict[str, Any], name: str) -> dict[str, Any]:
    for part in name.split(".")[:-1]:
        document = document[part]
    return document
