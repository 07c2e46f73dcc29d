"""Optional packages: imported where they are needed, missed with a message that says what to install."""

from importlib import import_module
from types import ModuleType

from evade.errors import ExtraMissing


def import_extra(module: str, extra: str) -> ModuleType:
    """Import `module`, which the extra `extra` of this package brings, or raise `ExtraMissing`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            f"the package {error.name or module} is not installed: run  pip install 'evade[{extra}]'"
        ) from error
