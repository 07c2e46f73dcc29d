"""A run's settings as a JSON document: both ways, compared, and as a fingerprint."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from typing import Any, get_type_hints

from evade.checks import fits_type
from evade.config.run import RunConfig
from evade.errors import ConfigError
from evade.kinds import KindSettings, find_kind

SCHEMA = 2
"""Raised when the meaning or the names of settings change."""

LENGTH = "schedule.iterations"
"""The one setting of a run that may grow when it is resumed."""


def to_document(config: RunConfig) -> dict[str, Any]:
    """The settings as JSON values, with the schema number; sections that come in kinds name theirs."""
    document: dict[str, Any] = json.loads(json.dumps(_to_values(config)))
    return {"schema": SCHEMA} | document


def _to_values(settings: Any) -> Any:
    if not is_dataclass(settings):
        return settings
    kind: dict[str, Any] = {"kind": settings.kind} if isinstance(settings, KindSettings) else {}
    values = {field: getattr(settings, field.name) for field in fields(settings)}
    return kind | {
        field.name: _to_values(value)
        for field, value in values.items()
        if not (_is_added_later(field) and value == field.default)
    }


def _is_added_later(field: Field[Any]) -> bool:
    return bool(field.metadata.get("is_added_later"))


def from_document(document: dict[str, Any]) -> RunConfig:
    """The settings of a document; unknown, missing or invalid ones are a `ConfigError`."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ConfigError(
            f"Invalid settings of schema {schema!r}: this version of evade reads schema {SCHEMA}. Use the version that "
            f"wrote them (environment.txt names it), or train again."
        )
    config: RunConfig = _build(RunConfig, {key: value for key, value in document.items() if key != "schema"}, "")
    return config


def _build(annotation: Any, document: Any, place: str) -> Any:
    section: Callable[..., Any] = annotation
    is_kind = isinstance(annotation, type) and issubclass(annotation, KindSettings)
    if not is_kind and not is_dataclass(annotation):
        value = _as_tuple(document)
        if not fits_type(value, annotation):
            name, kind = place.rstrip("."), getattr(annotation, "__name__", annotation)
            raise ConfigError(f"Invalid {name} = {value!r:.100}: must be {kind}.")
        return value
    if not isinstance(document, dict):
        raise ConfigError(f"Invalid {place.rstrip('.') or 'settings'} = {document!r}: must be a section.")
    if is_kind:
        section = find_kind(annotation, document.get("kind"))
        document = {name: value for name, value in document.items() if name != "kind"}
    names = {field.name for field in fields(section)}  # type: ignore[arg-type] # every kind is a dataclass
    later = {field.name for field in fields(section) if _is_added_later(field)}  # type: ignore[arg-type] # as above
    wrong = sorted((document.keys() ^ names) - (later - document.keys()))
    if wrong:
        listed = ", ".join(f"{place}{name} is {'unknown' if name in document else 'missing'}" for name in wrong)
        raise ConfigError(f"The settings do not fit this version: {listed}.")
    hints = get_type_hints(section)
    try:
        return section(**{name: _build(hints[name], value, f"{place}{name}.") for name, value in document.items()})
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"A setting of {place.rstrip('.') or 'the document'} has the wrong type ({error})."
        ) from error


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
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        is_longer = name == LENGTH and new >= old  # type: ignore[operator] # both are counts
        if old != new and not name.startswith("machine.") and not is_longer:
            lines.append(f"{name}: {old!r} in the run, {new!r} now")
    return lines


def fingerprint(config: RunConfig) -> str:
    """Twelve hexadecimal digits of all settings that can change what is learnt, the run's length excluded."""
    return _digest(_identity(config))


def recipe_fingerprint(config: RunConfig) -> str:
    """The same without game and seed: equal for runs that differ in nothing else."""
    names = ("game", "seed")
    return _digest({name: value for name, value in _identity(config).items() if name not in names})


def _identity(config: RunConfig) -> dict[str, Any]:
    flat = flatten(to_document(config))
    return {name: value for name, value in flat.items() if not name.startswith("machine.") and name != LENGTH}


def _digest(identity: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
