"""TensorFlow variables of T2T SimPLe: infer sizes from them, check them, copy them into a network."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from evade.errors import VariablesError

Array = NDArray[np.generic]

PIXEL_LEVELS, PIXEL_CHANNELS = 256, 3
"""T2T SimPLe always uses RGB pixels."""

BOOKKEEPING = re.compile(r"(^|.*/)(global_step|losses_avg/.*|training/.*|beta[12]_power|Adam(_1)?|Adafactor(_\d)?)$")
"""Step counters and optimiser slots, which a checkpoint also contains."""

UNUSED_EMBEDDINGS = r"symbol_modality_\d+_\d+/(input_emb|target_(action|reward)/target_emb)/weights_0"
"""T2T SimPLe creates an embedding for every input and target, and uses only that of the world model's actions."""


@dataclass(frozen=True)
class Twin:
    """A variable of T2T SimPLe and our parameter with the same values."""

    variable: str
    """TensorFlow name without the model's name as prefix."""
    parameter: str
    """Name in our network's state dict."""
    layout: Literal["same", "dense", "convolution"] = "same"
    """How the axes differ: dense kernels are transposed, convolution kernels `[h, w, a, b]` become `[b, a, h, w]`."""

    def to_torch(self, array: Array) -> Tensor:
        """T2T SimPLe's array in our layout, float32."""
        axes = {"same": None, "dense": (1, 0), "convolution": (3, 2, 0, 1)}[self.layout]
        moved = array if axes is None else array.transpose(axes)
        return torch.from_numpy(np.ascontiguousarray(moved, dtype=np.float32))

    def to_tensorflow(self, tensor: Tensor) -> NDArray[np.float32]:
        """Our tensor in T2T SimPLe's layout."""
        array: NDArray[np.float32] = tensor.detach().cpu().float().numpy()
        axes = {"same": None, "dense": (1, 0), "convolution": (2, 3, 1, 0)}[self.layout]
        return array if axes is None else array.transpose(axes)


def layer_twins(variable: str, parameter: str, layout: Literal["dense", "convolution"]) -> list[Twin]:
    """Kernel and bias of a dense or convolution layer."""
    return [
        Twin(f"{variable}/kernel", f"{parameter}.weight", layout),
        Twin(f"{variable}/bias", f"{parameter}.bias"),
    ]


def injection_twins(variable: str, parameter: str) -> list[Twin]:
    """The two dense layers by which an action, or the bits, enter a map."""
    return [
        *layer_twins(f"{variable}_mul", f"{parameter}.multiply", "dense"),
        *layer_twins(f"{variable}_add", f"{parameter}.add", "dense"),
    ]


def norm_twins(variable: str, parameter: str) -> list[Twin]:
    """Scale and shift of a layer norm."""
    scope = f"{variable}/layer_norm/layer_norm"
    return [Twin(f"{scope}_scale", f"{parameter}.weight"), Twin(f"{scope}_bias", f"{parameter}.bias")]


def load_variables(
    model: nn.Module, twins: Iterable[Twin], found: Mapping[str, Array], unused: re.Pattern[str]
) -> None:
    """Copy all variables into the model.

    Args:
        model: changed in place, unless there is an error.
        twins: all variables of the model and its parameters.
        found: the variables given, by name.
        unused: names of further variables that are ignored.

    Raises:
        VariablesError: lists every variable that is missing, unexpected or of wrong shape.
    """
    state = model.state_dict()
    expected = {twin.variable: (twin, twin.to_tensorflow(state[twin.parameter]).shape) for twin in twins}
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(name for name in found.keys() - expected.keys() if not unused.fullmatch(name))
    wrong_shape = [
        f"{name} is {list(found[name].shape)}, must be {list(shape)}"
        for name, (_, shape) in expected.items()
        if name in found and found[name].shape != shape
    ]
    problems = {"missing": missing, "unexpected": unexpected, "wrong shape": wrong_shape}
    if missing or unexpected or wrong_shape:
        details = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in problems.items() if names)
        raise VariablesError(f"Invalid variables for {type(model).__name__}: {details}.")
    for name, (twin, _) in expected.items():
        state[twin.parameter] = twin.to_torch(found[name])
    model.load_state_dict(state)


def without_prefix(variables: Mapping[str, Array], landmark: str, unlike: str = "\0") -> dict[str, Array]:
    """Variables without the model's name as prefix, `:0` as suffix, step counters and optimiser slots.

    Args:
        variables: by TensorFlow name.
        landmark: a name without prefix that the network has; the prefix is inferred from it.
        unlike: names with this in them are not taken for the landmark.
    """
    named = {name.removesuffix(":0"): np.asarray(array) for name, array in variables.items()}
    named = {name: array for name, array in named.items() if not BOOKKEEPING.match(name)}
    prefixes = [name.removesuffix(landmark) for name in named if name.endswith(landmark) and unlike not in name]
    if not prefixes:
        raise VariablesError(
            f"Invalid variables: no .../{landmark} among the {len(named)} given. Load a checkpoint of this kind of "
            f"network."
        )
    prefix = min(prefixes, key=len)
    root = prefix.split("/")[0] + "/" if "/" in prefix else ""
    return {name.removeprefix(prefix).removeprefix(root): array for name, array in named.items()}


def shape_of(found: Mapping[str, Array], name: str, dimensions: int) -> tuple[int, ...]:
    """The shape of a variable from which sizes are inferred."""
    if name not in found:
        raise VariablesError(f"Invalid variables: {name} is missing, and the network's size is inferred from it.")
    shape = found[name].shape
    if len(shape) != dimensions:
        raise VariablesError(f"Invalid variable {name} of shape {list(shape)}: must have {dimensions} axes.")
    return shape


def count_of(found: Mapping[str, Array], pattern: str) -> int:
    """Number of variables `pattern.format(0)`, `pattern.format(1)`, ...; at least 1."""
    count = 0
    while pattern.format(count) in found:
        count += 1
    if count == 0:
        raise VariablesError(
            f"Invalid variables: {pattern.format(0)} is missing, and the network's size is inferred from it."
        )
    return count
