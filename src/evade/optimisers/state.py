"""An optimiser's state as named tensors and JSON values."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


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
    """Restore the results of the two functions above into an optimiser of the same parameters."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = _laid_out_as(parameters[int(number)], value)
    groups = optimiser.state_dict()["param_groups"]
    # JSON turns tuples (Adam's betas) into lists.
    restored = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()} for kept in values
    ]
    optimiser.load_state_dict(
        {"state": state, "param_groups": [group | kept for group, kept in zip(groups, restored, strict=True)]}
    )


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
