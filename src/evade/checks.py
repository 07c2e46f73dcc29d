"""How settings are checked: one `ConfigError` that names the field, the value and the rule."""

from collections.abc import Callable
from typing import Any

from evade.errors import ConfigError


def require(holds: bool, field: str, value: Any, rule: str) -> None:
    """Raise a `ConfigError` that names field, value and rule unless the rule holds."""
    if not holds:
        raise ConfigError(f"{field} = {value!r} is not possible: {rule}.")


def require_fields(config: Any, section: str, fields: str, holds: Callable[[Any], bool], rule: str) -> None:
    """Check one rule for several fields of a section, given as one string of names."""
    for field in fields.split():
        value = getattr(config, field)
        require(holds(value), f"{section}.{field}", value, rule)


def at_least_one(value: int) -> bool:
    """A count or size that cannot be zero."""
    return value >= 1


def finite_positive(value: float) -> bool:
    """A number above zero that is not infinite."""
    return 0 < value < float("inf")


def finite_not_negative(value: float) -> bool:
    """Zero, or a number above it that is not infinite."""
    return 0 <= value < float("inf")


def require_choice(field: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a `ConfigError` unless `value` is one of `choices`."""
    require(value in choices, field, value, "choose one of " + ", ".join(choices))
