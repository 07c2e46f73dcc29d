"""When a run compiles, and that compiling changes nothing but the speed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from evade.config import EVADE, GameSpec, MachineConfig, WorldModelConfig
from evade.config.presets import build_config
from evade.dreams.env import DreamEnv
from evade.errors import CompileError, ConfigError
from evade.layers import draw
from evade.policies import build_policy
from evade.policies.rollout import roll_out
from evade.runtime.compilation import Compiler, cache_folder, missing_part, should_compile
from evade.world_models import build_world_model

GAME = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6)


def config_with(compile, preset="minatar"):
    return replace(build_config(preset), machine=MachineConfig(compile=compile))


@pytest.mark.parametrize(
    ("preset", "wanted", "is_on"),
    [
        ("minatar", "auto", True),
        ("atari100k", "auto", True),
        ("smoke", "auto", False),
        ("smoke", "on", True),
        ("minatar", "off", False),
    ],
)
def test_auto_compiles_long_runs_alone(preset, wanted, is_on):
    assert should_compile(config_with(wanted, preset)) == is_on


def test_without_a_compiler_auto_is_eager_and_on_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "C++ compiler" in missing_part("cpu")
    assert not should_compile(config_with("auto"))
    with pytest.raises(CompileError, match="no C\\+\\+ compiler .*: install it, or set --machine.compile off"):
        should_compile(config_with("on"))


def test_an_unknown_choice_is_refused():
    with pytest.raises(ConfigError, match="machine.compile = 'maybe'"):
        MachineConfig(compile="maybe")


def test_compiled_code_is_kept_in_the_users_cache_unless_torch_was_told_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "set, so that it is put back afterwards")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    assert cache_folder() == tmp_path / "evade" / "compile"
    Compiler(True)
    assert Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) == tmp_path / "evade" / "compile"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "elsewhere")
    Compiler(True)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "elsewhere"


def test_a_function_that_cannot_be_compiled_is_one_error():
    def read(x):
        return torch.zeros(3) if x.sum().item() > 0 else x

    with pytest.raises(CompileError, match="set --machine.compile off"):
        Compiler(True)(read)(torch.ones(2))


def test_compiled_dreams_equal_eager_ones_and_new_weights_and_draws_need_no_new_compilation():
    torch.manual_seed(0)
    sizes = WorldModelConfig(
        num_frames=1, hidden_size=8, depth=2, standardise=False, predicts_end=True, event_layers=EVADE, sigma_init=0.5
    )
    model = build_world_model(sizes, GAME).eval()
    policy = build_policy(build_config("smoke").policy, GAME, 1)
    told = []
    compiler = Compiler(True, told.append)

    def starts(count):
        return torch.randint(0, 2, (count, 1, 4, 10, 10), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))

    compiled_graphs = []
    for turn in range(3):
        draw(model, torch.Generator().manual_seed(turn))
        fast, plain = (
            roll_out(policy, DreamEnv(model, 5, starts, compiler=use), 4, torch.Generator().manual_seed(2))
            for use in (compiler, Compiler(False))
        )
        assert all(torch.equal(*fields) for fields in zip(fast, plain, strict=True))
        compiled_graphs.append(counters["stats"]["unique_graphs"])
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    assert len(set(compiled_graphs)) == 1
    assert len(told) == 1
    assert told[0] > 0
