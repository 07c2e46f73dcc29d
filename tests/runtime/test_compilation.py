"""When a run compiles, and that compiling changes nothing but the speed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from evade.config import MachineConfig
from evade.config.presets import build_config
from evade.dreams.env import DreamEnv
from evade.errors import CompileError, ConfigError
from evade.game_spec import GameSpec
from evade.layers import draw
from evade.policies.build import build_policy
from evade.policies.rollout import roll_out
from evade.records import Prediction
from evade.runtime.compilation import Compiler, cache_folder, missing_part, should_compile
from evade.vocabulary.variants import EVADE
from evade.world_models.build import build_world_model
from evade.world_models.settings import DeterministicConfig, RewardPathConfig

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
def test_auto_compiles_only_long_runs(preset, wanted, is_on):
    assert should_compile(config_with(wanted, preset)) == is_on


def test_without_a_compiler_auto_is_eager_and_on_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "C++ compiler" in missing_part("cpu")
    assert not should_compile(config_with("auto"))
    message = (
        "^Invalid machine.compile = 'on': there is no C\\+\\+ compiler .*Install it, or run with --machine.compile off"
    )
    with pytest.raises(CompileError, match=message):
        should_compile(config_with("on"))


def test_an_unknown_choice_is_refused():
    with pytest.raises(ConfigError, match="machine.compile = 'maybe'"):
        MachineConfig(compile="maybe")


def test_compiled_code_is_kept_in_the_users_cache_unless_torchs_variable_is_set(monkeypatch, tmp_path):
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

    with pytest.raises(CompileError, match="torch.compile failed .*: run with --machine.compile off"):
        Compiler(True)(read)(torch.ones(2))


def test_compiled_dreams_equal_eager_ones_and_new_weights_and_draws_need_no_new_compilation():
    torch.manual_seed(0)
    sizes = DeterministicConfig(
        hidden_size=8,
        depth=2,
        standardise=False,
        predicts_end=True,
        reward=RewardPathConfig(event_layers=EVADE, sigma_init=0.5),
    )
    model = build_world_model(sizes, GAME, num_frames=1).eval()
    policy = build_policy(build_config("smoke").policy, GAME, 1)
    seconds = []
    compiler = Compiler(True, seconds.append)

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
    assert len(seconds) == 1
    assert seconds[0] > 0


class Drifting(torch.nn.Module):
    """A recurrent model that samples: remembers the sum of actions and noise, pays it, and ends where it is large."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(0.5))

    def initial_memory(self, observation):
        return (torch.zeros(len(observation)),)

    def sample_noise(self, batch_size, generator):
        return (torch.rand(batch_size, generator=generator),)

    def predict(self, observation, action, memory, noise):
        total = memory[0] + self.scale.detach() * (action + noise[0])
        return Prediction(1 - observation[:, -1], total, total > 6, (total,))


def test_compiled_dreams_with_memory_and_noise_equal_eager_ones():
    policy = build_policy(build_config("smoke").policy, GAME, 1)
    rollouts = []
    for compiler in (Compiler(True), Compiler(False)):
        generator = torch.Generator().manual_seed(2)
        starts = torch.zeros(10, 1, 4, 10, 10, dtype=torch.uint8)
        dream = DreamEnv(Drifting(), 5, lambda _, starts=starts: starts, compiler=compiler, generator=generator)
        rollouts.append(roll_out(policy, dream, 12, generator))
    fast, plain = rollouts
    assert 0 < plain.terminated.sum() < plain.terminated.numel()
    for name in ("observation", "action", "terminated"):
        assert torch.equal(getattr(fast, name), getattr(plain, name))
    torch.testing.assert_close(fast.reward, plain.reward)
