"""Optional packages: imported on first use; a missing one raises an error that names what to install."""

from importlib import import_module
from types import ModuleType

from evade.errors import ExtraMissing


def import_extra(module: str, extra: str) -> ModuleType:
    """Import `module`, a dependency of the extra `evade[extra]`, or raise `ExtraMissing`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            f"The package {error.name or module} is not installed: run  pip install 'evade[{extra}]'"
        ) from error
