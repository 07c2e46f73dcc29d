"""A look inside one world model, as numbers: what its event layers and draws make of one real frame. No torch here.

A run writes it at its end (`inspection.json`), so that figures of it can be plotted, and verified, without the model.
"""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evade.checks import fits_type
from evade.errors import UnreadableFile
from evade.runs.documents import CHECKSUM, checksum
from evade.runs.files import read_json, write_json

MAX_BYTES = 2**26
"""A larger file is refused. At the size of the paper's networks it has about 6 MB."""
MAX_PARTS = 128
"""Maps, or images of sigmas, in one file; a network has fewer than 20 event layers."""
MAX_VALUE = 1e15
"""Size of a number; the square of a larger one does not fit in float32, and figures compute with squares."""

Array = NDArray[np.float32]


@dataclass(frozen=True)
class MapChange:
    """One channel before and after an event layer."""

    layer: str
    """`translation`, `weighting` or `interaction`."""
    stage: str
    """Before which stage of the network the layer is: `up stage 5`."""
    channel: int
    num_channels: int
    is_largest: bool
    """Whether no channel of the layer changes more on average; False for a channel that was asked for."""
    before: Array
    """`[h, w]`."""
    after: Array
    """`[h, w]`."""


@dataclass(frozen=True)
class SigmaImage:
    """The sigmas of some noisy weights, arranged as an image."""

    title: str
    rows: str
    """What the blocks from top to bottom are."""
    columns: str
    """What the blocks from left to right are."""
    names: tuple[str, ...]
    """Of the blocks from left to right; empty to number them from 0."""
    block: tuple[int, int]
    """Rows and columns of a block: the weights of one filter, or the places of one kind of object."""
    values: Array
    """`[rows, columns]`, absolute values."""


@dataclass(frozen=True)
class Inspection:
    """One real frame, as a world model's event layers and draws see it."""

    title: str
    """Game, variant and seed."""
    variant: str
    frame: int
    """Which frame of the run's experience."""
    picture: NDArray[np.uint8]
    """`[H, W, 3]`, the frame as an image."""
    action: int
    """The action the maps are for."""
    draw: str
    """The draw the maps are under, in words."""
    mean: Array
    """`[A]`, the expected reward of each action under the mean weights."""
    draws: Array
    """`[D, A]`, under draws 0 to D - 1."""
    changes: tuple[MapChange, ...]
    """For each event layer the channel that changes most, followed by the one asked for, if any."""
    sigmas: tuple[SigmaImage, ...]
    """Of all noisy layers."""
    prior_sigmas: tuple[SigmaImage, ...]
    """Of the event prior; empty without one."""


def write_inspection(path: Path, inspection: Inspection) -> None:
    """Write it as JSON with a checksum; numbers come back exactly."""
    document = asdict(inspection, dict_factory=_plain)
    write_json(path, document | {CHECKSUM: checksum(document)})


def read_inspection(path: Path) -> Inspection:
    """Read what `write_inspection` wrote; a file of an earlier version has no checksum and is read without one.

    Raises:
        UnreadableFile: it is missing, too large, damaged or something else.
    """
    document = read_json(path, MAX_BYTES)
    try:
        return _build(document)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UnreadableFile(f"{path} is not an inspection ({error}): remove it, or restore it from a copy.") from None


def _plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in pairs}


def _build(document: Any) -> Inspection:
    values = dict(document)
    written = values.pop(CHECKSUM, None)
    if written is not None and written != checksum(values):
        raise ValueError("it was changed after it was written: its checksum differs")
    picture = _array(values["picture"], 3)
    if picture.min() < 0 or picture.max() > 255:
        raise ValueError(f"a picture of values from {picture.min():g} to {picture.max():g} instead of 0 to 255")
    values["picture"] = picture.astype(np.uint8)
    values["mean"], values["draws"] = _array(values["mean"], 1), _array(values["draws"], 2)
    values["changes"] = tuple(
        MapChange(**change | {side: _array(change[side], 2) for side in ("before", "after")})
        for change in values["changes"]
    )
    for name in ("sigmas", "prior_sigmas"):
        values[name] = tuple(_build_image(image) for image in values[name])
    inspection = Inspection(**values)
    _check_types(inspection)
    for change in inspection.changes:
        _check_types(change)
    if max(len(inspection.changes), len(inspection.sigmas), len(inspection.prior_sigmas)) > MAX_PARTS:
        raise ValueError(f"more than {MAX_PARTS} maps or images of sigmas")
    if inspection.draws.shape[1] != len(inspection.mean) or inspection.picture.shape[2] != 3:
        raise ValueError("shapes do not fit together")
    if any(change.before.shape != change.after.shape for change in inspection.changes):
        raise ValueError("maps before and after differ in size")
    return inspection


def _build_image(document: dict[str, Any]) -> SigmaImage:
    names, block = tuple(map(str, document["names"])), tuple(map(int, document["block"]))
    image = SigmaImage(**document | {"values": _array(document["values"], 2), "names": names, "block": block})
    _check_types(image)
    rows, columns = image.values.shape
    if len(block) != 2 or min(block) < 1 or rows % block[0] or columns % block[1]:
        raise ValueError(f"blocks of {block} do not tile an image of {rows} x {columns}")
    if names and len(names) != columns // block[1]:
        raise ValueError(f"{len(names)} names for {columns // block[1]} blocks")
    return image


def _array(values: Any, num_axes: int) -> Array:
    array = np.array(values, np.float32)
    # Not a number is not below the limit either.
    if array.ndim != num_axes or array.size == 0 or not (np.abs(array) <= MAX_VALUE).all():
        raise ValueError(f"an array of shape {array.shape} instead of {num_axes} axes, or beyond {MAX_VALUE:g}")
    return array


def _check_types(part: Inspection | MapChange | SigmaImage) -> None:
    """Check every text and number; arrays and what is built of them are checked where they are built."""
    for field in fields(part):
        value = getattr(part, field.name)
        if field.type in (str, int, bool) and not fits_type(value, field.type):
            raise ValueError(f"{field.name} = {value!r:.100} instead of a {field.type.__name__}")
