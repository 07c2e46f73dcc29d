"""How settings are checked: one `ConfigError` that names the field, the value and the rule."""

from collections.abc import Callable
from typing import Any

from evade.errors import ConfigError


def require(holds: bool, field: str, value: Any, rule: str) -> None:
    """Raise a `ConfigError` that names field, value and rule unless the rule holds.

    Args:
        holds: whether the value is allowed.
        field: its name, `section.field`.
        value: what was given.
        rule: what is allowed, to follow a colon: "must be at least 1".
    """
    if not holds:
        raise ConfigError(f"Invalid {field} = {value!r}: {rule}.")


def require_fields(config: Any, section: str, fields: str, holds: Callable[[Any], bool], rule: str) -> None:
    """Check one rule for several fields of a section, given as one string of names."""
    for field in fields.split():
        value = getattr(config, field)
        require(holds(value), f"{section}.{field}", value, rule)


def at_least_one(value: int) -> bool:
    """Whether a count or size is at least 1."""
    return value >= 1


def finite_positive(value: float) -> bool:
    """Whether a number is above zero and finite."""
    return 0 < value < float("inf")


def finite_not_negative(value: float) -> bool:
    """Whether a number is zero or above and finite."""
    return 0 <= value < float("inf")


def is_probability_below_one(value: float) -> bool:
    """Whether a number is a probability other than 1."""
    return 0 <= value < 1


def is_share(value: float) -> bool:
    """Whether a number lies between 0 and 1, both included."""
    return 0 <= value <= 1


def require_choice(field: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a `ConfigError` unless `value` is one of `choices`."""
    require(value in choices, field, value, "must be one of " + ", ".join(choices))
