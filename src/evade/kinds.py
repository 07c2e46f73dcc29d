"""Settings that choose a kind of part: each kind of world model, policy or learner has a settings class of its own."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from evade.errors import ConfigError

ADDED_LATER: Mapping[str, Any] = {"is_added_later": True}
"""Metadata of a setting that was added when runs existed already. Documents leave it out while it has its default, so
that those runs keep their fingerprints and can be read."""


class KindSettings:
    """Base of the settings of a part that comes in several kinds.

    A direct subclass opens a family (`class WorldModelConfig(KindSettings, family="world_model")`). A subclass of the
    family is one kind and has a name (`class DeterministicConfig(WorldModelConfig, kind="deterministic")`), which
    settings documents carry so that they can be read back.
    """

    family: ClassVar[str]
    """The section of the run's settings that holds them."""
    kind: ClassVar[str]
    """The kind's name in documents."""
    kinds: ClassVar[dict[str, type[Any]]]
    """All kinds of the family by name, those defined outside this package included."""

    def __init_subclass__(cls, *, family: str | None = None, kind: str | None = None) -> None:
        super().__init_subclass__()
        if family is not None:
            cls.family, cls.kinds = family, {}
        if kind is not None:
            known = cls.kinds.get(kind)
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise ConfigError(f"Invalid {cls.family} kind {kind!r}: {known.__qualname__} has that name already.")
            cls.kind = kind
            cls.kinds[kind] = cls


def find_kind(family: type[KindSettings], kind: Any) -> type[Any]:
    """The settings class of a kind by its name in a document."""
    if not isinstance(kind, str) or kind not in family.kinds:
        known = ", ".join(family.kinds)
        raise ConfigError(
            f"Invalid {family.family}.kind = {kind!r}: must be one of {known}. Import the module that defines another "
            f"kind before reading its settings."
        )
    return family.kinds[kind]


Builder = TypeVar("Builder")


def find_builder(builders: Mapping[type[Any], Builder], config: KindSettings, register: str) -> Builder:
    """What builds a part of these settings.

    Args:
        builders: by settings class.
        config: the part's settings.
        register: the function that adds to `builders`, for the message.
    """
    if type(config) not in builders:
        kind = getattr(config, "kind", None)
        raise ConfigError(
            f"Invalid {config.family}.kind = {kind!r}: {type(config).__name__} is not registered. "
            f"Call {register} for it first."
        )
    return builders[type(config)]
