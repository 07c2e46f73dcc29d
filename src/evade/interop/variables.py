"""Variables of the original program: reading sizes from them, checking them, copying them into a network."""

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
"""T2T SimPLe always works on RGB pixels."""

BOOKKEEPING = re.compile(r"(^|.*/)(global_step|losses_avg/.*|training/.*|beta[12]_power|Adam(_1)?|Adafactor(_\d)?)$")
"""Step counters and optimiser slots that a checkpoint holds beside the network."""

UNUSED_EMBEDDINGS = r"symbol_modality_\d+_\d+/(input_emb|target_(action|reward)/target_emb)/weights_0"
"""Embeddings the original creates for every input and target and, but for the world model's actions, never uses."""


@dataclass(frozen=True)
class Twin:
    """A variable of the original and the parameter of ours that holds the same numbers."""

    variable: str
    """TensorFlow name below the model's name."""
    parameter: str
    """Name in our network's state dict."""
    layout: Literal["same", "dense", "convolution"] = "same"
    """How the axes differ: dense kernels are transposed, convolution kernels `[h, w, a, b]` become `[b, a, h, w]`."""

    def to_torch(self, array: Array) -> Tensor:
        """The original's array in our layout, float32."""
        axes = {"same": None, "dense": (1, 0), "convolution": (3, 2, 0, 1)}[self.layout]
        moved = array if axes is None else array.transpose(axes)
        return torch.from_numpy(np.ascontiguousarray(moved, dtype=np.float32))

    def to_tensorflow(self, tensor: Tensor) -> NDArray[np.float32]:
        """Our tensor in the original's layout."""
        array: NDArray[np.float32] = tensor.detach().cpu().float().numpy()
        axes = {"same": None, "dense": (1, 0), "convolution": (2, 3, 1, 0)}[self.layout]
        return array if axes is None else array.transpose(axes)


def layer_twins(variable: str, parameter: str, layout: Literal["dense", "convolution"]) -> list[Twin]:
    """Kernel and bias of a dense or convolution layer."""
    return [
        Twin(f"{variable}/kernel", f"{parameter}.weight", layout),
        Twin(f"{variable}/bias", f"{parameter}.bias"),
    ]


def norm_twins(variable: str, parameter: str) -> list[Twin]:
    """Scale and shift of a layer norm."""
    scope = f"{variable}/layer_norm/layer_norm"
    return [Twin(f"{scope}_scale", f"{parameter}.weight"), Twin(f"{scope}_bias", f"{parameter}.bias")]


def load_variables(
    model: nn.Module, twins: Iterable[Twin], found: Mapping[str, Array], unused: re.Pattern[str]
) -> None:
    """Copy all variables into the model, or say everything that is wrong with them."""
    state = model.state_dict()
    expected = {twin.variable: (twin, twin.to_tensorflow(state[twin.parameter]).shape) for twin in twins}
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(name for name in found.keys() - expected.keys() if not unused.fullmatch(name))
    misshaped = [
        f"{name} is {list(found[name].shape)} and should be {list(shape)}"
        for name, (_, shape) in expected.items()
        if name in found and found[name].shape != shape
    ]
    problems = {"missing": missing, "superfluous": extra, "misshaped": misshaped}
    if missing or extra or misshaped:
        told = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in problems.items() if names)
        raise VariablesError(f"these are not the variables of a {type(model).__name__}. {told}.")
    for name, (twin, _) in expected.items():
        state[twin.parameter] = twin.to_torch(found[name])
    model.load_state_dict(state)


def without_prefix(variables: Mapping[str, Array], landmark: str, unlike: str = "\0") -> dict[str, Array]:
    """Drop `:0`, bookkeeping and everything before the landmark's own name."""
    named = {name.removesuffix(":0"): np.asarray(array) for name, array in variables.items()}
    named = {name: array for name, array in named.items() if not BOOKKEEPING.match(name)}
    prefixes = [name.removesuffix(landmark) for name in named if name.endswith(landmark) and unlike not in name]
    if not prefixes:
        raise VariablesError(
            f"there is no variable .../{landmark} among the {len(named)} given: these are not the variables of this "
            f"kind of network."
        )
    prefix = min(prefixes, key=len)
    root = prefix.split("/")[0] + "/" if "/" in prefix else ""
    return {name.removeprefix(prefix).removeprefix(root): array for name, array in named.items()}


def shape_of(found: Mapping[str, Array], name: str, dimensions: int) -> tuple[int, ...]:
    """The shape of a variable that sizes are read from."""
    if name not in found:
        raise VariablesError(f"the variable {name} is missing, so the network's size cannot be told.")
    shape = found[name].shape
    if len(shape) != dimensions:
        raise VariablesError(f"the variable {name} has shape {list(shape)}, but {dimensions} axes are expected.")
    return shape


def count_of(found: Mapping[str, Array], pattern: str) -> int:
    """How many variables of a numbered series there are, at least one."""
    count = 0
    while pattern.format(count) in found:
        count += 1
    if count == 0:
        raise VariablesError(f"the variable {pattern.format(0)} is missing, so the network's size cannot be told.")
    return count
