"""How settings are checked: one `ConfigError` that names the field, the value and the rule."""

import math
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

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


def fits_type(value: Any, annotation: Any) -> bool:
    """Whether a JSON value, with tuples for lists, is of an annotated type.

    Whole numbers count as floats, booleans are not numbers, and numbers must be finite (JSON writes infinity as 1e999)
    and fit in 64 bits.

    Args:
        value: from a document.
        annotation: int, float, str, bool, None, dict, list, a Literal, a tuple or a union of these.
    """
    kind, inner = get_origin(annotation) or annotation, get_args(annotation)
    if kind in (Union, UnionType):
        return any(fits_type(value, each) for each in inner)
    if kind is Literal:
        return any(value == each and type(value) is type(each) for each in inner)
    if kind is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = (inner[0],) * len(value) if len(inner) == 2 and inner[1] is Ellipsis else inner
        return len(value) == len(kinds) and all(map(fits_type, value, kinds))
    if kind is float and isinstance(value, float):
        return math.isfinite(value)
    if kind in (int, float):
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, NoneType if kind is None else kind)
