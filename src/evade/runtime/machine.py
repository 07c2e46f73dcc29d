"""The checks of `evade doctor`: versions, device, threads, optional extras, and a short self-test."""

import importlib.util
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import imageio_ffmpeg
import torch

from evade.errors import EvadeError
from evade.game_spec import GameSpec
from evade.layers import LayerError, draw
from evade.records import Transitions
from evade.runtime.compilation import missing_part
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_deterministic, build_deterministic_fitter
from evade.world_models.settings import DeterministicConfig, FitConfig, RewardPathConfig

EXTRAS = {"atari": "ale_py", "minatar": "minatar", "minigrid": "minigrid", "look": "starlette", "ray": "ray"}
"""Optional extras of the package, and a module that each installs."""

BF16_PRODUCT = "import torch; ones = torch.ones(64, 64, dtype=torch.bfloat16); ones @ ones"

SELF_TEST_UPDATES = 30
"""Updates of the self-test, which takes about 2 seconds on two idle cores."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    value: str
    is_well: bool = True


def examine() -> list[Finding]:
    """All findings, the self-test last."""
    return [*describe_machine(), try_bf16(), *_extras(), _find_ffmpeg(), _self_test()]


def describe_machine() -> list[Finding]:
    """What measurements depend on: versions, device, threads, bf16."""
    return [*_versions(), *_hardware()]


def _versions() -> list[Finding]:
    installed = [Finding(name, version(name)) for name in ("evade", "torch", "numpy", "gymnasium", "safetensors")]
    return [Finding("python", platform.python_version()), *installed]


def _hardware() -> list[Finding]:
    if torch.cuda.is_available():
        device, bf16 = torch.cuda.get_device_name(), torch.cuda.is_bf16_supported()
    else:
        device = f"cpu ({torch.backends.cpu.get_cpu_capability()})"
        bf16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    missing = missing_part("cuda" if torch.cuda.is_available() else "cpu")
    return [
        Finding("device", device),
        Finding("threads", f"{torch.get_num_threads()} of {os.cpu_count()}; --machine.threads sets them for a run"),
        Finding("OMP_WAIT_POLICY", os.environ.get("OMP_WAIT_POLICY", "not set: idle threads may spin")),
        Finding("GOMP_SPINCOUNT", os.environ.get("GOMP_SPINCOUNT", "not set: follows OMP_WAIT_POLICY")),
        Finding("compile", f"no {missing}" if missing else "possible"),
        Finding("bf16", "supported by the hardware" if bf16 else "not supported by the hardware, emulated"),
    ]


def try_bf16(program: str = BF16_PRODUCT) -> Finding:
    """Whether a bfloat16 product on the CPU ends the process, tried in another one.

    Some virtual machines offer AMX and do not keep its state: torch then uses it and is killed.
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: S603 - no shell
    if done.returncode == 0:
        return Finding("bf16 product", "works on the CPU")
    advice = "set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16, or keep precision float32, the default"
    return Finding("bf16 product", f"ends the process on this CPU (code {done.returncode}): {advice}")


def _extras() -> list[Finding]:
    findings = []
    for extra, module in EXTRAS.items():
        present = importlib.util.find_spec(module) is not None
        found = _version_of(module) if present else f"not installed; run  pip install 'evade[{extra}]'"
        findings.append(Finding(f"extra {extra}", found))
    return findings


def _find_ffmpeg() -> Finding:
    """Whether videos can be written: the program is there and starts."""
    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
        subprocess.run([program, "-version"], capture_output=True, check=True, timeout=30)  # noqa: S603 - no shell
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        advice = "runs are trained without videos; pip install imageio-ffmpeg brings one"
        return Finding("ffmpeg", f"cannot be used ({error}): {advice}", is_well=False)
    return Finding("ffmpeg", f"present ({imageio_ffmpeg.get_ffmpeg_version()})")


def _version_of(module: str) -> str:
    try:
        return version(module.replace("_", "-"))
    except PackageNotFoundError:
        return "present"


def _self_test(work: Callable[[], str] | None = None) -> Finding:
    start = time.perf_counter()
    try:
        summary = (work or _fit_and_draw)()
    except (EvadeError, LayerError, RuntimeError) as error:
        return Finding("self-test", f"failed: {error}", is_well=False)
    return Finding("self-test", f"{summary} in {time.perf_counter() - start:.1f} s")


def _fit_and_draw() -> str:
    """Fit a tiny EVaDE model to one batch, then check that equal draws agree and different ones differ."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        game = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)
        config = DeterministicConfig(
            hidden_size=16,
            depth=2,
            reward=RewardPathConfig(event_layers=EVADE),
            fit=FitConfig(warmup_updates=10, learning_rate=0.1),
        )
        model = build_deterministic(config, game, num_frames=1)
        fitter = build_deterministic_fitter(config, model)
        batch = Transitions(
            observation=torch.randint(0, 2, (16, 1, 4, 10, 10), dtype=torch.uint8),
            action=torch.arange(16) % 6,
            next_frame=torch.randint(0, 2, (16, 4, 10, 10), dtype=torch.uint8),
            reward=torch.arange(16) % 3 - 1,
            terminated=torch.zeros(16, dtype=torch.bool),
        )
        losses = [fitter.update(batch)["loss"].item() for _ in range(SELF_TEST_UPDATES)]
        model.eval()
        rewards = []
        for seed in (1, 1, 2):
            draw(model, torch.Generator().manual_seed(seed))
            with torch.no_grad():
                rewards.append(model(batch.observation, batch.action).reward)
    if not torch.equal(rewards[0], rewards[1]) or torch.equal(rewards[0], rewards[2]):
        raise EvadeError("equal draws gave different rewards, or different draws gave equal ones")
    if not losses[-1] < losses[0]:
        raise EvadeError(f"the loss did not fall from {losses[0]:.3f} in {len(losses)} updates")
    return (
        f"loss {losses[0]:.2f} to {losses[-1]:.2f} in {len(losses)} updates, equal draws repeat, different draws differ"
    )
