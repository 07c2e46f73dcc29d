import ast
import dataclasses
import inspect

import pytest

import evade.config.env
import evade.config.networks
import evade.config.run
from evade.config import EVADE, GameSpec, PolicyConfig, WorldModelConfig
from evade.errors import ConfigError

GAME = {"channels": 3, "height": 105, "width": 80, "levels": 256, "num_actions": 6}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: WorldModelConfig(event_layers=("teleport",)), "event_layers = 'teleport' .* translation, weighting"),
        (lambda: WorldModelConfig(event_layers=("weighting", "weighting")), "each event layer may be named once"),
        (lambda: WorldModelConfig(hidden_size=0), "world_model.hidden_size = 0 .* at least 1"),
        (lambda: WorldModelConfig(depth=2, num_doublings=3), "num_doublings = 3 .* world_model.depth = 2"),
        (lambda: WorldModelConfig(dropout=1.0), "world_model.dropout = 1.0 .* probability below 1"),
        (lambda: WorldModelConfig(sigma_init=float("nan")), "sigma_init = nan .* finite"),
        (lambda: WorldModelConfig(kl_weight=float("inf")), "kl_weight = inf .* finite"),
        (lambda: WorldModelConfig(learning_rate=0), "learning_rate = 0 .* positive"),
        (lambda: WorldModelConfig(activation="gelu"), "activation = 'gelu' .* relu, belu"),
        (lambda: WorldModelConfig(event_init="ones"), "event_init = 'ones' .* identity, random"),
        (lambda: WorldModelConfig(activation="belu", hidden_size=5), "hidden_size = 5 .* even"),
        (lambda: PolicyConfig(filters=()), "policy.filters = \\(\\) .* at least one convolution"),
        (lambda: PolicyConfig(clip=1.5), "policy.clip = 1.5"),
        (lambda: PolicyConfig(discount=1.5), "policy.discount = 1.5 .* between 0 and 1"),
        (lambda: PolicyConfig(epochs=0), "policy.epochs = 0"),
        (lambda: GameSpec(**GAME | {"levels": 1}), "game.levels = 1 .* 2 to 256"),
        (lambda: GameSpec(**GAME | {"num_actions": 0}), "game.num_actions = 0"),
        (lambda: GameSpec(**GAME, lowest_reward=1), "game.lowest_reward = 1 .*highest_reward = 1"),
    ],
)
def test_an_impossible_setting_names_field_value_and_rule(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


def test_reward_classes_follow_the_game():
    assert GameSpec(**GAME).num_reward_classes == 3
    assert GameSpec(**GAME, lowest_reward=0).num_reward_classes == 2


def test_every_setting_says_what_it_means():
    sections = [evade.config.env, evade.config.networks, evade.config.run]
    for module in sections:
        for definition in ast.parse(inspect.getsource(module)).body:
            if isinstance(definition, ast.ClassDef):
                for field, following in zip(definition.body, [*definition.body[1:], None], strict=True):
                    if isinstance(field, ast.AnnAssign):
                        assert isinstance(following, ast.Expr), f"{definition.name}.{field.target.id} is undocumented"


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        WorldModelConfig().depth = 3


def test_the_full_tuple_is_in_the_papers_order():
    assert EVADE == ("translation", "weighting", "interaction")
