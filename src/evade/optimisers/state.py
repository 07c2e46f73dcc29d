"""An optimiser's state as named tensors and JSON values."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from evade.checks import fits_type
from evade.errors import CheckpointMismatch


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """All moments, named `<parameter number>.<name>`."""
    state = optimiser.state_dict()["state"]
    return {f"{number}.{name}": value for number, moments in state.items() for name, value in moments.items()}


def optimiser_values(optimiser: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """Each parameter group's settings and counters."""
    groups = optimiser.state_dict()["param_groups"]
    return [{name: value for name, value in group.items() if name != "params"} for group in groups]


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], values: list[dict[str, Any]]
) -> None:
    """Restore the results of the two functions above into an optimiser of the same parameters.

    Everything is checked first: a fused update writes wherever the shape of a moment leads it.

    Raises:
        CheckpointMismatch: a moment or a value is not one that this optimiser makes; nothing was changed.
    """
    groups = optimiser.state_dict()["param_groups"]
    _check_values(groups, values)
    _check_moments(optimiser, tensors, any(kept.get("num_updates", 1) for kept in values))
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = _laid_out_as(parameters[int(number)], value)
    # JSON turns tuples (Adam's betas) into lists.
    restored = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()} for kept in values
    ]
    optimiser.load_state_dict(
        {"state": state, "param_groups": [group | kept for group, kept in zip(groups, restored, strict=True)]}
    )


def _check_values(groups: list[dict[str, Any]], values: Any) -> None:
    """Refuse settings that the optimiser was not built with; counters and what follows from them may differ."""
    if not isinstance(values, list) or len(values) != len(groups) or not all(isinstance(kept, dict) for kept in values):
        raise CheckpointMismatch(f"it has {values!r:.50} in place of the values of {len(groups)} parameter groups")
    for group, kept in zip(groups, values, strict=True):
        if kept.keys() != group.keys() - {"params"}:
            raise CheckpointMismatch(f"its optimiser has the values {', '.join(sorted(kept)):.200}")
        for name, value in kept.items():
            expected = list(group[name]) if isinstance(group[name], tuple) else group[name]
            found: Any = list(value) if isinstance(value, tuple) else value
            is_number = isinstance(expected, int | float) and not isinstance(expected, bool)
            if found != expected and not (is_number and fits_type(found, type(expected)) and found >= 0):
                raise CheckpointMismatch(f"its optimiser has {name} = {value!r:.50}; {expected!r} is expected")


def _check_moments(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], was_updated: bool) -> None:
    """Compare names, shapes and types with what one update of a copy of the optimiser makes."""
    if bool(tensors) != was_updated:
        found = f"{len(tensors)} moments" if tensors else "no moments"
        raise CheckpointMismatch(f"its optimiser has {found} {'after updates' if was_updated else 'before any update'}")
    if not tensors:
        return
    expected = _moments_after_one_update(optimiser)
    for key, value in sorted(tensors.items()):
        like = expected.get(key)
        if like is None:
            raise CheckpointMismatch(f"its optimiser has {key!r:.80}, which this one does not make")
        if value.shape != like.shape or value.dtype != like.dtype:
            raise CheckpointMismatch(f"its optimiser has {key} as {describe(value)}; {describe(like)} is expected")
    # A parameter that no loss depends on has no moments, so some may lack all of theirs; none lacks a part of them.
    numbers = {key.partition(".")[0] for key in tensors}
    missing = sorted(key for key in expected.keys() - tensors.keys() if key.partition(".")[0] in numbers)
    if missing:
        raise CheckpointMismatch(f"its optimiser lacks {missing[0]}")


def _moments_after_one_update(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What an optimiser of this kind makes of parameters of these shapes; the optimiser itself is not touched."""
    # By hand, because copies of torch's optimisers lose the attributes of subclasses.
    copy = object.__new__(type(optimiser))
    copy.__dict__.update(optimiser.__dict__)
    copy.state = defaultdict(dict)
    copy.param_groups = [
        group | {"params": [nn.Parameter(torch.zeros_like(parameter)) for parameter in group["params"]]}
        for group in optimiser.param_groups
    ]
    for parameter in (parameter for group in copy.param_groups for parameter in group["params"]):
        parameter.grad = torch.zeros_like(parameter)
    copy.step()
    return optimiser_tensors(copy)


def describe(tensor: Tensor) -> str:
    """Type and shape, for messages."""
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


class SavedOptimiser:
    """Base of a part whose whole state to save is one optimiser (`interfaces.Savable`)."""

    def __init__(self, optimiser: torch.optim.Optimizer) -> None:
        self.optimiser = optimiser

    def saved_tensors(self) -> dict[str, Tensor]:
        """The optimiser's moments."""
        return optimiser_tensors(self.optimiser)

    def saved_values(self) -> list[dict[str, Any]]:
        """The optimiser's settings and counters."""
        return optimiser_values(self.optimiser)

    def restore(self, tensors: Mapping[str, Tensor], values: list[dict[str, Any]]) -> None:
        """Restore the optimiser's state."""
        restore_optimiser(self.optimiser, tensors, values)


def _laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    """A moment in its parameter's memory format, because with another one a resumed run may round differently."""
    return torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value
