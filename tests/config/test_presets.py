import dataclasses
import json

import pytest
import torch

from evade.config import differences, fingerprint, from_document, to_document
from evade.config.presets import PRESETS, build_config
from evade.envs import spec
from evade.errors import ConfigError, UnknownPreset
from evade.game_spec import GameSpec
from evade.vocabulary.variants import EVADE, VARIANTS
from evade.world_models.build import build_world_model
from evade.world_models.settings import StochasticDiscreteConfig


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_differ_in_one_tuple_and_survive_json(preset, variant):
    config = build_config(preset, variant, seed=7)
    assert from_document(json.loads(json.dumps(to_document(config)))) == config
    simple = build_config(preset, "simple", seed=7)
    assert config.world_model.reward.event_layers == VARIANTS[variant].event_layers
    same = config.world_model.with_event_layers(())
    assert dataclasses.replace(config, variant="simple", world_model=same) == simple


def test_the_papers_schedule():
    config = build_config("atari100k", "evade")
    schedule = config.schedule
    assert schedule.total_real_steps == 102_400
    iterations = range(1, 31)
    assert [schedule.real_steps_in(i) for i in iterations] == [6400] + [3200] * 29
    assert [schedule.fit_updates_in(i) for i in iterations] == [45_000] + [15_000] * 29
    assert {i: schedule.dream_batches_in(i) for i in iterations if schedule.dream_batches_in(i) != 1000} == {
        8: 2000,
        12: 2000,
        23: 2000,
        27: 2000,
        30: 3000,
    }
    steps = sum(schedule.dream_batches_in(i) for i in iterations) * config.dream.num_envs * config.dream.horizon
    assert steps == 28_800_000
    assert config.world_model.reward.event_layers == EVADE


def test_simple_as_published():
    config = build_config("atari100k-simple", "simple")
    schedule, iterations = config.schedule, range(1, 16)
    assert schedule.iterations == 15
    assert schedule.total_real_steps == 102_400
    assert [schedule.real_steps_in(i) for i in iterations] == [6400] * 15
    assert sum(schedule.fit_updates_in(i) for i in iterations) == 255_000
    assert [schedule.dream_batches_in(i) // 1000 for i in iterations] == [1] * 7 + [2] + [1] * 3 + [2, 1, 1, 3]
    assert schedule.total_dream_batches * config.dream.num_envs * config.dream.horizon == 15_200_000
    assert config.env == build_config("atari100k").env
    assert config.learner == build_config("atari100k").learner
    assert (config.replay.batch_size, config.env.num_frames, config.replay.target_frames) == (4, 4, 6)
    assert config.world_model == StochasticDiscreteConfig()


def test_the_stochastic_models_size_is_t2t_simples():
    config = build_config("atari100k-simple", "simple")
    with torch.device("meta"):
        model = build_world_model(config.world_model, GameSpec(3, 105, 80, 256, 6), config.env.num_frames)
    # T2T SimPLe's 90,328,015 without what never receives a gradient: two heads on the flattened bottleneck, and the
    # embeddings of rewards, for inputs and for targets.
    unused = (2 * 2 * 768 + 1) * (6 + 1) + 2 * 3 * 96
    assert sum(parameter.numel() for parameter in model.parameters()) == 90_328_015 - unused


def test_the_laptops_atari_keeps_the_papers_real_steps_and_has_few_values_to_predict():
    config = build_config("atari-laptop", "evade")
    paper = build_config("atari100k", "evade").schedule
    assert [config.schedule.real_steps_in(i) for i in range(1, 31)] == [paper.real_steps_in(i) for i in range(1, 31)]
    assert config.schedule.total_real_steps == 102_400
    assert spec(config.game, config.env) == GameSpec(1, 42, 32, 16, 3)
    # PPO's minibatches are as large in the game as in dreams.
    assert config.collect.num_envs * config.collect.num_slices == config.dream.num_envs


def test_the_sticky_protocol_differs_in_nothing_but_sticky_actions():
    config = build_config("minatar-sticky", "evade")
    assert differences(build_config("minatar", "evade"), config) == [
        "preset: 'minatar' in the run, 'minatar-sticky' now",
        "env.sticky_probability: 0.0 in the run, 0.1 now",
        "dream.sticky_probability: 0.0 in the run, 0.1 now",
    ]


def test_the_bits_replace_nothing_but_the_world_model():
    config = build_config("minatar-bits", "evade")
    plain = build_config("minatar", "evade")
    assert isinstance(config.world_model, StochasticDiscreteConfig)
    assert config.world_model.bits.count == 8
    assert dataclasses.replace(config, preset="minatar", world_model=plain.world_model) == plain


def test_the_fingerprint_is_of_what_can_change_learning():
    config = build_config("smoke", "evade")
    assert fingerprint(config) == fingerprint(build_config("smoke", "evade"))
    machine = dataclasses.replace(config.machine, threads=7)
    longer = dataclasses.replace(config.schedule, iterations=9)
    assert fingerprint(dataclasses.replace(config, machine=machine, schedule=longer)) == fingerprint(config)
    assert fingerprint(dataclasses.replace(config, seed=1)) != fingerprint(config)


def test_differences_name_what_may_not_change():
    saved = build_config("smoke", "evade")
    assert differences(saved, saved) == []
    longer = dataclasses.replace(saved, schedule=dataclasses.replace(saved.schedule, iterations=5))
    assert differences(saved, longer) == []
    assert differences(longer, saved) == ["schedule.iterations: 5 in the run, 2 now"]
    other = dataclasses.replace(saved, learner=dataclasses.replace(saved.learner, clip=0.3))
    assert differences(saved, other) == ["learner.clip: 0.2 in the run, 0.3 now"]


def test_a_document_with_unknown_or_missing_settings_is_refused():
    document = to_document(build_config("smoke", "evade"))
    with pytest.raises(ConfigError, match="policy.surprise is unknown"):
        from_document(document | {"policy": document["policy"] | {"surprise": 1}})
    with pytest.raises(ConfigError, match="seed is missing"):
        from_document({name: value for name, value in document.items() if name != "seed"})
    with pytest.raises(ConfigError, match="schema 99"):
        from_document(document | {"schema": 99})
    with pytest.raises(ConfigError, match="Invalid policy = 3: must be a section"):
        from_document(document | {"policy": 3})
    with pytest.raises(ConfigError, match="Invalid seed = 'three': must be int"):
        from_document(document | {"seed": "three"})
    with pytest.raises(ConfigError, match="Invalid world_model.kind = 'crystal ball': must be one of deterministic"):
        from_document(document | {"world_model": document["world_model"] | {"kind": "crystal ball"}})
    with pytest.raises(ConfigError, match="Invalid learner.kind = None: must be one of ppo"):
        from_document(document | {"learner": {"clip": 0.1}})


def test_a_document_names_the_kind_of_each_part_that_comes_in_kinds():
    document = to_document(build_config("minatar", "evade"))
    kinds = {
        name: section["kind"] for name, section in document.items() if isinstance(section, dict) and "kind" in section
    }
    assert kinds == {"world_model": "deterministic", "policy": "actor-critic", "learner": "ppo"}


@pytest.mark.parametrize(("preset", "variant"), [("nope", "evade"), ("smoke", "nope")])
def test_unknown_names_list_the_known_ones(preset, variant):
    with pytest.raises(UnknownPreset, match="'nope': must be one of"):
        build_config(preset, variant)
