"""Which runs may be compared: the settings and versions that decide what a score means, and copies of one run.

Scores compare if the games, their preprocessing and the final evaluation are the same. All other settings say how an
agent learns: that is what a comparison is about, so they may differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evade.config import flatten
from evade.errors import ProtocolMismatch, RunError
from evade.evidence.results.read import RunResult

EVALUATION = ("temperature", "max_noops", "time_limit", "final_episodes")
"""The settings of `evaluation` that decide what a score means. The others say how often a run is evaluated and how
many games are played at once."""

AGENT_ONLY = ("num_frames",)
"""The settings of `env` that change what the agent sees of the game, but not the game."""

EXPECTED = (
    "game",
    "seed",
    "variant",
    "machine.",
    "world_model.reward.event_layers",
    "evaluation.episodes",
    "evaluation.every",
    "evaluation.num_envs",
)
"""Settings, or sections with a dot at the end, in which compared runs may differ without a note."""


def protocol(run: RunResult) -> dict[str, Any]:
    """The settings (`section.field`) and versions that must be equal for two scores to be compared."""
    env, evaluation = run.settings["env"], run.settings["evaluation"]
    return {
        "preprocessing_version": run.preprocessing_version,
        "evaluation_version": run.evaluation_version,
        **flatten({"env": {name: value for name, value in env.items() if name not in AGENT_ONLY}}),
        **{f"evaluation.{name}": evaluation[name] for name in EVALUATION if name in evaluation},
    }


def check_comparable(runs: Sequence[RunResult]) -> None:
    """Raise a `ProtocolMismatch` that lists every difference unless all runs have the same protocol."""
    differing = find_differing({str(run.folder.path): protocol(run) for run in runs})
    if differing:
        found = [
            f"{name} is " + " and ".join(f"{value} in {path}" for value, path in values.items())
            for name, values in differing.items()
        ]
        raise ProtocolMismatch(
            f"runs with different protocols cannot be compared: {'; '.join(found)}. Compare them separately."
        )


def check_distinct(runs: Sequence[RunResult]) -> None:
    """Raise a `RunError` if a run is given twice: counting a copy would make every interval too narrow.

    Runs are the same if their fingerprints are equal, or all their settings: a fingerprint may have been computed by
    another version.
    """
    seen: dict[str, RunResult] = {}
    for run in runs:
        settings = {name: value for name, value in flatten(run.settings).items() if not name.startswith("machine.")}
        for identity in (run.fingerprint, repr(sorted(settings.items()))):
            first = seen.setdefault(identity, run)
            if first is not run:
                raise RunError(
                    f"{first.folder.path} and {run.folder.path} are the same run (fingerprint {run.fingerprint}, seed "
                    f"{run.seed}): give one of them."
                )


def unexpected_differences(runs: Sequence[RunResult]) -> dict[str, list[str]]:
    """Each setting in which the runs differ, except the expected ones, with its values as text."""
    differing = find_differing({str(run.folder.path): flatten(run.settings) for run in runs})
    return {name: list(values) for name, values in differing.items() if not _is_expected(name)}


def find_differing(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Each name with more than one value: its values as text, each with the first document that has it."""
    values: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(name for document in documents.values() for name in document):
        for owner, document in documents.items():
            values.setdefault(name, {}).setdefault(repr(document[name]) if name in document else "absent", owner)
    return {name: found for name, found in values.items() if len(found) > 1}


def _is_expected(name: str) -> bool:
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in EXPECTED)
