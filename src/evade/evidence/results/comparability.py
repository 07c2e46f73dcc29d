"""Which runs may be compared: the settings and versions that decide what a score means, and copies of one run.

Scores compare if the games, their preprocessing and the final evaluation are the same; runs of other protocols are kept
apart. All other settings say how an agent learns: that is what a comparison is about, so they may differ. Runs of one
variant that differ in them get different labels.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from evade.config import flatten
from evade.errors import RunError
from evade.evidence.results.read import RunResult
from evade.vocabulary.variants import VARIANTS
from evade.world_models.settings import RewardPathConfig, WorldModelConfig

EVALUATION = ("temperature", "max_noops", "time_limit", "final_episodes")
"""The settings of `evaluation` that decide what a score means. The others say how often a run is evaluated and how
many games are played at once."""

AGENT_ONLY = ("num_frames", "binary_channels")
"""The settings of `env` that change what the agent sees of the game, but not the game."""

EVENT_LAYERS = "world_model.reward.event_layers"

EXPECTED = (
    "game",
    "seed",
    "variant",
    "machine.",
    EVENT_LAYERS,
    "evaluation.episodes",
    "evaluation.every",
    "evaluation.num_envs",
)
"""Settings, or sections with a dot at the end, in which compared runs may differ without a note."""

EVENT_LAYERS_ONLY = (
    "dream.beside_games",
    *(f"world_model.reward.{each.name}" for each in fields(RewardPathConfig) if each.name != "estimate"),
)
"""Settings without effect on an agent that has no event layers."""

MOST_DETAILS = 2
"""Settings that a label lists; more are shortened to a hash."""


def protocol(run: RunResult) -> dict[str, Any]:
    """The settings (`section.field`) and versions that must be equal for two scores to be compared."""
    env, evaluation = run.settings["env"], run.settings["evaluation"]
    return {
        "preprocessing_version": run.preprocessing_version,
        "evaluation_version": run.evaluation_version,
        **flatten({"env": {name: value for name, value in env.items() if name not in AGENT_ONLY}}),
        **{f"evaluation.{name}": evaluation[name] for name in EVALUATION if name in evaluation},
    }


@dataclass(frozen=True)
class ProtocolGroup:
    """Runs whose scores may be compared with each other."""

    runs: tuple[RunResult, ...]
    difference: str
    """How its protocol differs from that of the first group; empty for the first."""


def split_by_protocol(runs: Sequence[RunResult]) -> list[ProtocolGroup]:
    """Split runs into groups of one protocol each: the one with most runs first, then that with most games per run."""
    found: dict[str, list[RunResult]] = {}
    for run in runs:
        found.setdefault(repr(sorted(protocol(run).items())), []).append(run)
    groups = sorted(found.values(), key=lambda group: (len(group), len(group[0].final_scores)), reverse=True)
    return [ProtocolGroup(tuple(group), _describe_difference(groups[0][0], group[0])) for group in groups]


def _describe_difference(first: RunResult, other: RunResult) -> str:
    differing = find_differing({"first": protocol(first), "other": protocol(other)})
    return "; ".join(
        f"{name} is {ours}, not {usual}" for name, (usual, ours) in ((n, tuple(v)) for n, v in differing.items())
    )


def label_runs(runs: Sequence[RunResult]) -> list[str]:
    """The variant of each run; where runs of one variant differ in other settings, with what tells them apart.

    For instance `evade (quick)` and `evade (minatar)`, or `evade (clip=0.2)`; with more than two such settings,
    `evade (settings 3fa9c1)`.
    """
    presets: dict[str, set[str]] = {}
    recipes: dict[tuple[str, str], list[RunResult]] = {}
    for run in runs:
        presets.setdefault(run.variant, set()).add(run.preset)
        recipes.setdefault((run.variant, run.preset), []).append(run)
    telling = {key: sorted(unexpected_differences(members)) for key, members in recipes.items()}
    return [_label(run, len(presets[run.variant]) > 1, telling[run.variant, run.preset]) for run in runs]


def name_labels(runs: Sequence[RunResult]) -> dict[str, str]:
    """By label of `label_runs`: the name that figures look styles up by.

    It is the label, with the paper's method instead of the variant where the world model makes the agent another one:
    `simple15` for `simple` on SimPLe's published model, whose figures would else call it SimPLe(30).
    """
    names: dict[str, str] = {}
    for run, label in zip(runs, label_runs(runs), strict=True):
        method = paper_method(run.settings)
        is_own = method is None or method == _variant_method(run.settings)
        names[label] = label if is_own else f"{method}{label.removeprefix(run.variant)}"
    return names


def paper_method(settings: Mapping[str, Any]) -> str | None:
    """The method of the paper that an agent with these settings (of a document) is; None if none."""
    model = settings.get("world_model")
    flat = flatten(model) if isinstance(model, dict) else {}
    kind = WorldModelConfig.kinds.get(str(flat.get("kind")), WorldModelConfig)
    method: str | None = kind.paper_method(_variant_method(settings), bool(flat.get("reward.event_layers")))
    return method


def _variant_method(settings: Mapping[str, Any]) -> str | None:
    variant = VARIANTS.get(str(settings["variant"]))
    return variant.paper_method if variant else None


def _label(run: RunResult, has_other_presets: bool, names: Sequence[str]) -> str:
    details = [run.preset] if has_other_presets else []
    settings = flatten(run.settings)
    if len(names) > MOST_DETAILS:
        values = repr([(name, settings.get(name)) for name in names])
        details.append(f"settings {hashlib.sha256(values.encode()).hexdigest()[:6]}")
    else:
        details += [f"{name.rpartition('.')[2]}={settings.get(name)}" for name in names]
    return f"{run.variant} ({', '.join(details)})" if details else run.variant


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
    """Each setting in which the runs differ, except the expected ones, with its values as text.

    Runs without event layers are not asked about settings of event layers.
    """
    documents = {str(run.folder.path): flatten(run.settings) for run in runs}
    with_layers = {path: document for path, document in documents.items() if document.get(EVENT_LAYERS) != []}
    others = {name: values for name, values in find_differing(documents).items() if name not in EVENT_LAYERS_ONLY}
    of_layers = {name: values for name, values in find_differing(with_layers).items() if name in EVENT_LAYERS_ONLY}
    return {name: list(values) for name, values in (others | of_layers).items() if not is_expected(name)}


def find_differing(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Each name with more than one value: its values as text, each with the first document that has it."""
    values: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(name for document in documents.values() for name in document):
        for owner, document in documents.items():
            values.setdefault(name, {}).setdefault(repr(document[name]) if name in document else "absent", owner)
    return {name: found for name, found in values.items() if len(found) > 1}


def is_expected(name: str) -> bool:
    """Whether compared runs may differ in a setting without a note."""
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in EXPECTED)
