"""Our own C++, compiled when it is first needed and kept in the user's cache.

A file `name.cpp` lies beside the module that calls it. Each such module also works without a C++ compiler, slower.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from torch import Tensor

OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-std=c++17", "-shared", "-fPIC")


def find_compiler() -> str | None:
    """The path of the C++ compiler: g++, or the one that CXX names; None if there is none."""
    return shutil.which(os.environ.get("CXX", "g++"))


@cache
def load_library(source: Path) -> ctypes.CDLL | None:
    """The compiled source; None if there is no C++ compiler, or it fails."""
    compiler = find_compiler()
    if compiler is None:
        return None
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evade" / "native"
    try:
        made_of = b"\n".join([source.read_bytes(), " ".join(OPTIONS).encode(), _machine()])
        library = folder / f"{source.stem}-{hashlib.sha256(made_of).hexdigest()[:16]}.so"
        if not library.exists():
            _build(compiler, source, library)
        return ctypes.CDLL(str(library))
    except (OSError, subprocess.SubprocessError):
        return None


def _machine() -> bytes:
    """What the compiled code depends on: a cache may be shared by different machines."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return os.uname().machine.encode()
    return next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")


def _build(compiler: str, source: Path, library: Path) -> None:
    """Compile beside the library and rename, so that a half-written one is never loaded."""
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made = Path(folder) / library.name
        command = [compiler, *OPTIONS, str(source), "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - our own command, no shell
        made.replace(library)


def call(function: Callable[..., object], *arguments: object) -> None:
    """Call a function of a library that returns nothing.

    Args:
        function: an attribute of a loaded library.
        arguments: tensors (passed as the address of their data; None as a null pointer) and integers (as int64).
    """
    function(*(_as_c(argument) for argument in arguments))


def with_whole_rows(batch: Tensor) -> Tensor:
    """The same batch, each of its rows in one piece; rows may lie apart, as parts of longer ones do."""
    return batch if batch[:1].is_contiguous() else batch.contiguous()


def _as_c(argument: object) -> ctypes.c_void_p | ctypes.c_int64:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    return ctypes.c_void_p(None if argument is None else argument.data_ptr())  # type: ignore[attr-defined]
