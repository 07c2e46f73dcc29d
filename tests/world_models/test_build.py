import re
from dataclasses import dataclass

import pytest

from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.kinds import find_kind
from evade.optimisers import Adafactor, TensorFlowAdam
from evade.world_models import build
from evade.world_models.build import build_fitter, build_world_model, register_world_model
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.settings import DeterministicConfig, FitConfig, WorldModelConfig

GAME = GameSpec(channels=4, height=10, width=10, levels=2, num_actions=6, lowest_reward=0)


@dataclass(frozen=True)
class TableConfig(WorldModelConfig, kind="test-table"):
    size: int = 3


@dataclass(frozen=True)
class NamelessConfig(WorldModelConfig):
    pass


@dataclass(frozen=True)
class WiderConfig(DeterministicConfig):
    pass


@pytest.fixture(autouse=True)
def no_other_kinds(monkeypatch):
    monkeypatch.setattr(build, "_BUILDERS", dict(build._BUILDERS))


def test_the_deterministic_model_is_built_for_game_and_frames():
    config = DeterministicConfig(hidden_size=8, depth=2, fit=FitConfig(max_gradient_norm=0.3))
    model = build_world_model(config, GAME, num_frames=3)
    assert isinstance(model, DeterministicWorldModel)
    assert (model.num_frames, model.channels, model.levels) == (3, 4, 2)
    assert (model.lowest_reward, model.num_reward_classes) == (0, 2)
    fitter = build_fitter(config, model)
    assert fitter.model is model
    assert fitter.max_gradient_norm == 0.3
    assert isinstance(fitter.optimiser, Adafactor)
    assert [p for group in fitter.optimiser.param_groups for p in group["params"]] == list(model.parameters())


def test_adam_follows_the_schedule_of_the_learning_rate():
    fit = FitConfig(optimiser="adam", learning_rate=0.06, warmup_updates=4)
    config = DeterministicConfig(hidden_size=8, depth=2, fit=fit)
    optimiser = build_fitter(config, build_world_model(config, GAME, num_frames=1)).optimiser
    assert isinstance(optimiser, TensorFlowAdam)
    rates = []
    for _ in range(17):
        optimiser.step()
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates[:5] == pytest.approx([0.0, 0.0075, 0.015, 0.0225, 0.03])
    assert rates[16] == pytest.approx(0.015)


def test_a_kind_from_outside_the_package_is_built_by_its_own_functions():
    register_world_model(
        TableConfig, lambda *arguments: ("model", *arguments), lambda *arguments: ("fitter", *arguments)
    )
    config = TableConfig(size=5)
    assert build_world_model(config, GAME, 2) == ("model", config, GAME, 2)
    assert build_fitter(config, "a model") == ("fitter", config, "a model")


@pytest.mark.parametrize(
    ("config", "kind"), [(TableConfig(), "test-table"), (NamelessConfig(), None), (WiderConfig(), "deterministic")]
)
def test_an_unregistered_class_names_the_field_and_what_to_do(config, kind):
    said = (
        f"Invalid world_model.kind = {kind!r}: {type(config).__name__} is not registered. "
        f"Call evade.world_models.build.register_world_model for it first."
    )
    with pytest.raises(ConfigError, match=re.escape(said)):
        build_world_model(config, GAME, 1)
    with pytest.raises(ConfigError, match=re.escape(said)):
        build_fitter(config, None)


def test_an_unknown_kind_names_the_field_and_what_to_do():
    said = "Invalid world_model.kind = 'recurrent': must be one of deterministic.*Import the module that defines"
    with pytest.raises(ConfigError, match=said):
        find_kind(WorldModelConfig, "recurrent")
