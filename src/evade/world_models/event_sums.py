"""Sums over the events of a step, by a compiled loop over the objects of a frame.

With convolutions the event prior takes a third of a dream step of MinAtar's Seaquest, though hardly any cell has an
object. The loop is `event_sums.cpp`, compiled when it is first needed and kept in the user's cache. Without a C++
compiler, or on another device, the prior uses convolutions.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

SOURCE = Path(__file__).with_suffix(".cpp")
OPTIONS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC")
MAX_CHANNELS = 64
"""Kinds of objects, one bit of a word for each."""


def find_compiler() -> str | None:
    """The path of the C++ compiler: g++, or the one that CXX names; None if there is none."""
    return shutil.which(os.environ.get("CXX", "g++"))


@cache
def load_library() -> ctypes.CDLL | None:
    """The compiled loop; None if there is no C++ compiler, or it fails."""
    compiler = find_compiler()
    if compiler is None:
        return None
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evade" / "native"
    try:
        made_of = b"\n".join([SOURCE.read_bytes(), " ".join(OPTIONS).encode(), _machine()])
        library = folder / f"event_sums-{hashlib.sha256(made_of).hexdigest()[:16]}.so"
        if not library.exists():
            _build(compiler, library)
        loaded = ctypes.CDLL(str(library))
        loaded.sum_events.restype = None
    except (OSError, AttributeError, subprocess.SubprocessError):
        return None
    return loaded


def _machine() -> bytes:
    """What the compiled code depends on: a cache may be shared by different machines."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return os.uname().machine.encode()
    return next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")


def _build(compiler: str, library: Path) -> None:
    """Compile beside the library and rename, so that a half-written one is never loaded."""
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        command = [compiler, *OPTIONS, str(SOURCE), "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - our own command, no shell
        made.replace(library)


def can_sum(channels: int) -> bool:
    """Whether `sum_events` works on this machine, on the CPU, for frames of that many channels."""
    return channels <= MAX_CHANNELS and load_library() is not None


@torch.library.custom_op("evade::sum_events", mutates_args=())
def sum_events(
    now: Tensor,
    action: Tensor,
    then: Tensor,
    met: Tensor | None,
    met_now: Tensor | None,
    moved: Tensor | None,
    placed: Tensor | None,
    placed_now: Tensor | None,
) -> Tensor:
    """The weights of all events that happen in each step, summed, float32 `[B]`.

    Weights are None for a kind of event that does not exist.

    Args:
        now: uint8 `[B, C, H, W]`.
        action: int64 `[B]`.
        then: uint8 `[B, C, H, W]`.
        met: weights of an object of `then` and its neighbour there, float32 `[C, C + 1, 3, 3]`.
        met_now: the same of `now` under each action, `[A, C, C + 1, 3, 3]`.
        moved: of an object of `then` and a neighbour in `now`, `[C, C + 1, 3, 3]`.
        placed: of an object's place in `then`, `[C, H, W]`.
        placed_now: the same of `now` under each action, `[A, C, H, W]`.
    """
    library = load_library()
    assert library is not None, "ask can_sum first"
    for by_action in (met_now, placed_now):
        # The loop would read whatever memory a wrong number leads to.
        assert by_action is None or ((action >= 0) & (action < len(by_action))).all(), "actions are checked first"
    if not now[:1].is_contiguous():
        now = now.contiguous()
    then, action = then.contiguous(), action.contiguous()
    weights = [None if weight is None else weight.contiguous() for weight in (met, met_now, moved, placed, placed_now)]
    totals = torch.empty(len(now))
    library.sum_events(
        ctypes.c_void_p(now.data_ptr()),
        ctypes.c_int64(now.stride(0)),
        ctypes.c_void_p(then.data_ptr()),
        ctypes.c_void_p(action.data_ptr()),
        *(ctypes.c_void_p(None if weight is None else weight.data_ptr()) for weight in weights),
        ctypes.c_void_p(totals.data_ptr()),
        *(ctypes.c_int64(size) for size in now.shape),
    )
    return totals


@sum_events.register_fake
def _(now: Tensor, *rest: Tensor | None) -> Tensor:
    return now.new_empty(len(now), dtype=torch.float32)
