"""What tables call the runs of one variant: runs with changed settings are a group of their own."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from evade.config import flatten, to_document
from evade.config.presets import PRESETS, build_config
from evade.errors import EvadeError
from evade.evidence.results.comparability import find_differing, is_expected
from evade.evidence.results.read import RunResult


def label_runs(runs: Sequence[RunResult]) -> dict[str, str]:
    """The label of each run, by its folder: the variant, and the changed settings that tell it from others.

    A setting is named if the run's value is not the preset's, and if runs of one preset, game and variant differ in it.
    """
    changes = {str(run.folder.path): changed_settings(run) for run in runs}
    groups: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for run in runs:
        path = str(run.folder.path)
        groups.setdefault((run.preset, run.game, run.variant), {})[path] = changes[path]
    telling = {name for group in groups.values() for name in find_differing(group)}
    return {str(run.folder.path): _label(run.variant, changes[str(run.folder.path)], telling) for run in runs}


def changed_settings(run: RunResult) -> dict[str, Any]:
    """The settings in which a run differs from its preset, except those that say nothing about the agent."""
    preset = _preset_settings(run.preset, run.variant, run.game)
    return {
        name: value
        for name, value in flatten(run.settings).items()
        if name in preset and preset[name] != value and not is_expected(name)
    }


@lru_cache
def _preset_settings(preset: str, variant: str, game: str) -> dict[str, Any]:
    """All settings of a preset; none if this version does not have it."""
    if preset not in PRESETS:
        return {}
    try:
        return flatten(to_document(build_config(preset, variant, game)))
    except EvadeError:
        return {}  # a variant or game of another version: nothing can be said about its changes


def _label(variant: str, changes: Mapping[str, Any], telling: set[str]) -> str:
    named = {name: value for name, value in changes.items() if name in telling}
    return f"{variant} ({describe_changes(named)})" if named else variant


def describe_changes(changes: Mapping[str, Any]) -> str:
    """Changed settings for people: by their last names where these are clear."""
    last = [name.rpartition(".")[2] for name in changes]
    return ", ".join(
        f"{short if last.count(short) == 1 else name}={value}"
        for short, (name, value) in zip(last, changes.items(), strict=True)
    )
