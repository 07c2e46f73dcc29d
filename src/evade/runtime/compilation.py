"""`torch.compile` for a run's hot functions: when it is used, and where compiled code is cached."""

import importlib.util
import os
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from evade.config import RunConfig
from evade.errors import CompileError
from evade.native import find_compiler

STEPS_TO_PAY = 1_000_000
"""`auto` compiles runs with at least this many dream steps in total: at MinAtar's size that many pay for a cold start
of about half a minute."""

OPTIONS: dict[str, str | int | bool | Callable[..., Any]] = {"layout_optimization": False}
"""Of torch.compile. The networks choose their memory layouts themselves. The compiler's own choice also transposes
frames, and a dream step of MinAtar's Breakout then takes 1.4 times as long (processor time, two repeats)."""

Work = TypeVar("Work", bound=Callable[..., Any])
Callback = Callable[[float], None]
"""Called with the seconds a compilation took."""


class Compiler:
    """Compiles functions of fixed shapes, each once; returns them unchanged if it is off.

    Parameters and buffers, held draws included, may change between calls without recompilation.

    Args:
        is_on: whether to compile; `should_compile` decides it for a run.
        on_compiled: called with the seconds of each compilation.
    """

    def __init__(self, is_on: bool, on_compiled: Callback = lambda seconds: None) -> None:
        self.is_on, self._on_compiled = is_on, on_compiled
        self._made: dict[Callable[..., Any], Any] = {}
        if is_on:
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder()))

    def __call__(self, work: Work) -> Work:
        """Compile a function without randomness; equal functions return the same compiled one."""
        if not self.is_on:
            return work
        if work not in self._made:
            self._made[work] = self._compile(work)
        made: Work = self._made[work]
        return made

    def _compile(self, work: Callable[..., Any]) -> Callable[..., Any]:
        fast = torch.compile(work, dynamic=False, fullgraph=True, options=OPTIONS)
        is_made = False

        def call(*inputs: Any) -> Any:
            nonlocal is_made
            if is_made:
                return fast(*inputs)
            # One eager call first: what a network caches at its first call, such as position signals, is then not
            # part of the graph, so that a resumed run compiles the same function.
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
        raise CompileError(f"torch.compile failed ({reason}): run with --machine.compile off.") from error


def should_compile(config: RunConfig) -> bool:
    """Whether a run compiles on this machine, by its setting `machine.compile`.

    Raises:
        CompileError: the setting is `on`, but a requirement is missing.
    """
    wanted = config.machine.compile
    if wanted == "off" or (wanted == "auto" and _dream_steps(config) < STEPS_TO_PAY):
        return False
    missing = missing_part(config.machine.device)
    if missing and wanted == "on":
        raise CompileError(
            f"Invalid machine.compile = 'on': there is no {missing}. Install it, or run with --machine.compile off."
        )
    return not missing


def _dream_steps(config: RunConfig) -> int:
    return config.schedule.total_dream_batches * config.dream.num_envs * config.dream.horizon


def missing_part(device: str) -> str | None:
    """The first requirement of `torch.compile` on a device that is not installed; None if all are."""
    if find_compiler() is None:
        return "C++ compiler (g++, or the one that CXX names)"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python.h (in a package such as python3-dev)"
    if device != "cpu" and importlib.util.find_spec("triton") is None:
        return "triton"
    return None


def cache_folder() -> Path:
    """Where compiled code is cached between runs, unless TORCHINDUCTOR_CACHE_DIR is set."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evade" / "compile"
