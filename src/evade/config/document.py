"""A run's settings as a JSON document: both ways, compared, and as a fingerprint."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from typing import Any, get_type_hints

from evade.config.run import RunConfig
from evade.errors import ConfigError

SCHEMA = 1
"""Raised when the meaning or the names of settings change."""

ADDED: dict[str, Any] = {
    "collect.pads_starts": False,
    "collect.temperature": 1.0,
    "dream.sticky_probability": 0.0,
    "env.grey_levels": None,
    "machine.compile": "off",
    "policy.num_frames": None,
    "policy.precision": "float32",
    "world_model.eventful_share": 0.0,
    "world_model.frame_loss_weight": 1.0,
    "world_model.keeps_objects": False,
    "world_model.num_local_layers": 0,
    "world_model.precision": "float32",
    "world_model.reward_estimate": "likeliest",
}
"""Settings that came after the first documents of this schema, and what was done before there was a choice: documents
may lack them, and a run with that value is the run it was before."""


def to_document(config: RunConfig) -> dict[str, Any]:
    """The settings as JSON values, with the schema number."""
    document: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return {"schema": SCHEMA} | document


def from_document(document: dict[str, Any]) -> RunConfig:
    """The settings of a document; unknown, missing or impossible ones are a `ConfigError`.

    Those of `ADDED` may be missing.
    """
    schema = document.get("schema")
    if schema != SCHEMA:
        raise ConfigError(f"the settings have schema {schema!r}, but this version reads schema {SCHEMA}.")
    config: RunConfig = _build(RunConfig, {key: value for key, value in document.items() if key != "schema"}, "")
    return config


def _build(kind: type[Any], document: Any, place: str) -> Any:
    section: Callable[..., Any] = kind
    if not is_dataclass(kind):
        return _as_tuple(document)
    if not isinstance(document, dict):
        raise ConfigError(f"{place or 'the document'} = {document!r} is not possible: it must be a section.")
    names = {field.name for field in fields(kind)}
    document = {name: ADDED[place + name] for name in names if place + name in ADDED} | document
    wrong = sorted(document.keys() ^ names)
    if wrong:
        told = ", ".join(f"{place}{name} is {'unknown' if name in document else 'missing'}" for name in wrong)
        raise ConfigError(f"the settings do not fit this version: {told}.")
    hints = get_type_hints(kind)
    try:
        return section(**{name: _build(hints[name], value, f"{place}{name}.") for name, value in document.items()})
    except TypeError as error:
        raise ConfigError(f"a setting in {place or 'the document'} is of the wrong kind ({error}).") from error


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(each) for each in value) if isinstance(value, list) else value


def flatten(document: dict[str, Any], place: str = "") -> dict[str, Any]:
    """Nested sections as `section.field` names."""
    flat: dict[str, Any] = {}
    for name, value in document.items():
        flat |= flatten(value, f"{place}{name}.") if isinstance(value, dict) else {place + name: value}
    return flat


def differences(saved: RunConfig, given: RunConfig) -> list[str]:
    """What forbids to continue a run with other settings, one line each; empty if nothing does.

    The machine may be another one, and the schedule may have more iterations.
    """
    before, after = flatten(to_document(saved)), flatten(to_document(given))
    lines = []
    for name, value in before.items():
        is_longer = name == "schedule.iterations" and after[name] >= value
        if after[name] != value and not name.startswith("machine.") and not is_longer:
            lines.append(f"{name}: {value!r} in the run, {after[name]!r} now")
    return lines


def fingerprint(config: RunConfig) -> str:
    """Twelve hexadecimal digits of all settings that can change what is learnt, the run's length excluded."""
    flat = flatten(to_document(config))
    identity = {name: value for name, value in flat.items() if not name.startswith("machine.")}
    for name, former in ADDED.items():
        if identity.get(name) == former:
            del identity[name]
    del identity["schedule.iterations"]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
