"""Activations by name: inputs and outputs of a network's modules, for figures and tests."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from torch import Tensor, nn

from evade.errors import UnknownFeatureMap
from evade.layers import noisy_layers


def event_map_names(model: nn.Module) -> list[str]:
    """Names of the maps before and after each noisy layer, e.g. `reward_path.events.up4.translation.before`."""
    return [f"{name}.{side}" for name in noisy_layers(model) for side in ("before", "after")]


@contextmanager
def capture(model: nn.Module, names: Iterable[str]) -> Iterator[dict[str, Tensor]]:
    """Record activations of each forward inside the block; a later forward replaces those of an earlier one.

    Args:
        model: any network.
        names: a module's name in the network followed by `.before` (its first input) or `.after` (its output).

    Yields:
        A dictionary from name to activation that each forward fills.

    Example:
        with capture(model, event_map_names(model)) as maps:
            model.predict(observation, action)
    """
    maps: dict[str, Tensor] = {}
    handles = []
    modules = dict(model.named_modules())
    try:
        for name in names:
            module_name, _, side = name.rpartition(".")
            if module_name not in modules or side not in ("before", "after"):
                raise UnknownFeatureMap(_explain(name, modules))
            handles.append(modules[module_name].register_forward_hook(_recorder(maps, name, side)))
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def _recorder(maps: dict[str, Tensor], name: str, side: str) -> Any:
    def record(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        maps[name] = (inputs[0] if side == "before" else output).detach()

    return record


def _explain(name: str, modules: dict[str, nn.Module]) -> str:
    known = [f"{module}.{side}" for module in modules for side in ("before", "after")]
    near = get_close_matches(name, known, n=3, cutoff=0)
    return f"Unknown feature map {name!r}: did you mean {', '.join(near)}?"
