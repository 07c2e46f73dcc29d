"""`torch.compile` for the functions a run spends its time in: whether it is used, where it is kept, what it costs."""

import importlib.util
import os
import shutil
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from evade.config import RunConfig
from evade.errors import CompileError

STEPS_TO_PAY = 1_000_000
"""Steps of single dreams in a whole run from which `auto` compiles: at MinAtar's size a cold start of about half a
minute is won back by then."""

Work = TypeVar("Work", bound=Callable[..., Any])
Callback = Callable[[float], None]
"""Called with the seconds a compilation took."""


class Compiler:
    """Compiles functions of fixed shapes, each once; returns them unchanged where the run does not compile.

    Weights, held draws and everything else a network keeps in parameters and buffers may change between calls without
    a new compilation.

    Args:
        is_on: whether to compile at all; `should_compile` decides it for a run.
        on_compiled: called with the seconds of each compilation.
    """

    def __init__(self, is_on: bool, on_compiled: Callback = lambda seconds: None) -> None:
        self.is_on, self._on_compiled = is_on, on_compiled
        self._made: dict[Callable[..., Any], Any] = {}
        if is_on:
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder()))

    def __call__(self, work: Work) -> Work:
        """The fast form of a function without randomness; the same one whenever it is asked for again."""
        if not self.is_on:
            return work
        if work not in self._made:
            self._made[work] = self._compile(work)
        made: Work = self._made[work]
        return made

    def _compile(self, work: Callable[..., Any]) -> Callable[..., Any]:
        fast = torch.compile(work, dynamic=False, fullgraph=True)
        is_made = False

        def call(*inputs: Any) -> Any:
            nonlocal is_made
            if is_made:
                return fast(*inputs)
            # Once as it is: what a network computes at its first call, such as position signals, is not compiled,
            # so that a resumed run compiles the same function as the first one did.
            work(*inputs)
            start = time.monotonic()
            result = _first_call(fast, *inputs)
            is_made = True
            self._on_compiled(time.monotonic() - start)
            return result

        return call


def _first_call(fast: Callable[..., Any], *inputs: Any) -> Any:
    from torch._dynamo.exc import TorchDynamoException

    try:
        return fast(*inputs)
    except TorchDynamoException as error:
        reason = str(error).strip().splitlines()[0]
        raise CompileError(f"torch.compile failed ({reason}): set --machine.compile off to run without it.") from error


def should_compile(config: RunConfig) -> bool:
    """What `machine.compile` means for this run, here.

    Raises:
        CompileError: it is `on`, but something is missing.
    """
    wanted = config.machine.compile
    if wanted == "off" or (wanted == "auto" and _dream_steps(config) < STEPS_TO_PAY):
        return False
    missing = missing_part(config.machine.device)
    if missing and wanted == "on":
        raise CompileError(
            f"machine.compile is on, but there is no {missing}: install it, or set --machine.compile off."
        )
    return not missing


def _dream_steps(config: RunConfig) -> int:
    return config.schedule.total_dream_batches * config.dream.num_envs * config.dream.horizon


def missing_part(device: str) -> str | None:
    """What `torch.compile` would need on a device and cannot find, in words; None if all is there."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        return "C++ compiler (g++, or the one that CXX names)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python.h (a package such as python3-dev brings it)"
    if device != "cpu" and importlib.util.find_spec("triton") is None:
        return "triton"
    return None


def cache_folder() -> Path:
    """Where compiled code is kept between runs, unless TORCHINDUCTOR_CACHE_DIR says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evade" / "compile"
