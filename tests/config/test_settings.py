import ast
import dataclasses
import inspect

import pytest

import evade.config.run
import evade.dreams.settings
import evade.envs.settings
import evade.policies.settings
import evade.replay.settings
import evade.world_models.settings
from evade.config import differences, fingerprint, from_document, to_document
from evade.config.presets import build_config
from evade.dreams.settings import DreamConfig
from evade.envs.settings import EnvConfig
from evade.errors import ConfigError
from evade.game_spec import GameSpec
from evade.policies.settings import ActorCriticConfig, PPOConfig
from evade.replay.settings import ReplayConfig
from evade.vocabulary.variants import EVADE
from evade.world_models.settings import DeterministicConfig, FitConfig, RewardPathConfig

GAME = {"channels": 3, "height": 105, "width": 80, "levels": 256, "num_actions": 6}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RewardPathConfig(event_layers=("teleport",)), "event_layers = 'teleport': must be one of translation"),
        (lambda: RewardPathConfig(event_layers=("weighting", "weighting")), "must name each event layer at most once"),
        (lambda: RewardPathConfig(sigma_init=float("nan")), "world_model.reward.sigma_init = nan: must be finite"),
        (lambda: RewardPathConfig(kl_weight=float("inf")), "kl_weight = inf: must be finite"),
        (lambda: RewardPathConfig(event_init="ones"), "event_init = 'ones': must be one of identity, random"),
        (lambda: RewardPathConfig(estimate="median"), "estimate = 'median': must be one of argmax, expected"),
        (lambda: FitConfig(dropout=1.0), "world_model.fit.dropout = 1.0: must be a probability below 1"),
        (lambda: FitConfig(learning_rate=0), "world_model.fit.learning_rate = 0: must be finite and positive"),
        (lambda: DeterministicConfig(hidden_size=0), "world_model.hidden_size = 0: must be at least 1"),
        (lambda: DeterministicConfig(depth=2, num_doublings=3), "num_doublings = 3: .* world_model.depth = 2"),
        (lambda: DeterministicConfig(activation="gelu"), "activation = 'gelu': must be one of relu, belu"),
        (lambda: DeterministicConfig(activation="belu", hidden_size=5), "hidden_size = 5: must be even"),
        (lambda: ActorCriticConfig(filters=()), "policy.filters = \\(\\): .* at least one convolution"),
        (lambda: PPOConfig(clip=1.5), "learner.clip = 1.5"),
        (lambda: PPOConfig(discount=1.5), "learner.discount = 1.5: must lie between 0 and 1"),
        (lambda: PPOConfig(epochs=0), "learner.epochs = 0"),
        (lambda: ReplayConfig(holdout=1.0), "replay.holdout = 1.0: must be at least 0 and below 1"),
        (lambda: DreamConfig(starts_by="luck"), "dream.starts_by = 'luck': must be one of episode, frame"),
        (lambda: EnvConfig(num_frames=0), "env.num_frames = 0: must be at least 1"),
        (lambda: GameSpec(**GAME | {"levels": 1}), "game.levels = 1: must be 2 to 256"),
        (lambda: GameSpec(**GAME | {"num_actions": 0}), "game.num_actions = 0"),
        (lambda: GameSpec(**GAME, lowest_reward=1), "game.lowest_reward = 1: .*highest_reward = 1"),
    ],
)
def test_an_invalid_setting_names_field_value_and_rule(make, said):
    with pytest.raises(ConfigError, match=said):
        make()


def test_reward_classes_follow_the_game():
    assert GameSpec(**GAME).num_reward_classes == 3
    assert GameSpec(**GAME, lowest_reward=0).num_reward_classes == 2


def test_every_setting_says_what_it_means():
    sections = [
        evade.config.run,
        evade.dreams.settings,
        evade.envs.settings,
        evade.policies.settings,
        evade.replay.settings,
        evade.world_models.settings,
    ]
    for module in sections:
        for definition in ast.parse(inspect.getsource(module)).body:
            if isinstance(definition, ast.ClassDef):
                for field, following in zip(definition.body, [*definition.body[1:], None], strict=True):
                    if isinstance(field, ast.AnnAssign):
                        assert isinstance(following, ast.Expr), f"{definition.name}.{field.target.id} is undocumented"


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DeterministicConfig().depth = 3


def test_the_full_tuple_is_in_the_papers_order():
    assert EVADE == ("translation", "weighting", "interaction")


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("schedule", "iterations", "2"),
        ("schedule", "iterations", 2.5),
        ("schedule", "iterations", True),
        ("schedule", "dream_multipliers", [[1]]),
        ("learner", "learning_rate", None),
        ("evaluation", "temperature", 1e999),
        ("machine", "device", 5),
        ("machine", "compile", "maybe"),
        ("env", "frame_size", [1, 2, 3]),
        ("env", "reward_scale", "x"),
    ],
)
def test_a_value_of_another_type_in_a_document_is_named(section, field, value):
    document = to_document(build_config("smoke", "evade"))
    document[section][field] = value
    with pytest.raises(ConfigError, match=f"{section}.*{field}|{field}"):
        from_document(document)


def test_a_setting_that_was_added_later_is_left_out_of_documents_while_it_has_its_default():
    config = build_config("smoke", "evade")
    assert "reward_scale" not in to_document(config)["env"]
    scaled = dataclasses.replace(config, env=dataclasses.replace(config.env, reward_scale=2.0))
    assert from_document(to_document(scaled)) == scaled
    assert from_document(to_document(config)) == config
    assert fingerprint(scaled) != fingerprint(config)
    assert differences(config, scaled) == ["env.reward_scale: None in the run, 2.0 now"]


def test_actions_that_do_not_fit_in_a_byte_are_refused_at_the_start():
    with pytest.raises(ConfigError, match="game.num_actions = 300: must be at most 256"):
        GameSpec(**{**GAME, "num_actions": 300})
