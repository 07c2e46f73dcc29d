"""What must be equal for scores to be compared, and what counts as the same run."""

import json

import pytest

from evade.config import EvaluationConfig, fingerprint, flatten, to_document
from evade.config.presets import build_config
from evade.envs.settings import EnvConfig
from evade.errors import ProtocolMismatch, RunError
from evade.evidence.results import compare_runs, read_run, read_runs
from evade.evidence.results.comparability import (
    AGENT_ONLY,
    EVALUATION,
    check_comparable,
    check_distinct,
    protocol,
    unexpected_differences,
)
from evade.runs.files import write_json
from run_folders import VERSIONS, make_finished, make_run

ENV = {"frame_skip": 4, "num_frames": 4}
PLAYED = {"temperature": 1.0, "max_noops": 8, "time_limit": 100, "final_episodes": 10, "episodes": 2, "every": 1}


def two_runs(folder, *, env=ENV, evaluation=PLAYED, versions=VERSIONS):
    make_finished(folder, "simple", "minatar/breakout", 0, 1.0, env=ENV, evaluation=PLAYED)
    make_finished(folder, "evade", "minatar/breakout", 0, 1.0, env=env, evaluation=evaluation, versions=versions)
    return read_runs([folder])


def settings_run(folder, config):
    """A finished run with the settings document of a real config."""
    run = make_run(folder, status="finished")
    write_json(run.config, {"settings": to_document(config), "fingerprint": fingerprint(config), **VERSIONS})
    return read_run(folder)


@pytest.mark.parametrize(
    "other",
    [
        {"env": ENV | {"num_frames": 2}},
        {"evaluation": PLAYED | {"episodes": 50}},
        {"evaluation": PLAYED | {"every": 7}},
        {"evaluation": PLAYED | {"num_envs": 3}},
    ],
)
def test_what_does_not_change_the_meaning_of_a_score_may_differ(tmp_path, other):
    runs = two_runs(tmp_path, **other)
    assert runs[0].settings != runs[1].settings
    assert protocol(runs[0]) == protocol(runs[1])
    check_comparable(runs)
    assert len(compare_runs(runs).suites) == 1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"env": ENV | {"frame_skip": 1}}, "env.frame_skip is 1 in .* and 4 in"),
        ({"env": ENV | {"new": {"nested": 1}}}, "env.new.nested is 1 in .* and absent in"),
        ({"evaluation": PLAYED | {"temperature": 0.5}}, "evaluation.temperature is 0.5 in .* and 1.0 in"),
        ({"evaluation": PLAYED | {"max_noops": None}}, "evaluation.max_noops is None in .* and 8 in"),
        ({"evaluation": PLAYED | {"time_limit": 50}}, "evaluation.time_limit is 50 in .* and 100 in"),
        ({"evaluation": PLAYED | {"final_episodes": 5}}, "evaluation.final_episodes is 5 in .* and 10 in"),
        ({"evaluation": {}}, "evaluation.temperature is absent in .* and 1.0 in"),
        ({"versions": VERSIONS | {"evaluation_version": 2}}, "evaluation_version is 2 in .* and 1 in"),
        ({"versions": VERSIONS | {"preprocessing_version": 2}}, "preprocessing_version is 2 in .* and 1 in"),
    ],
)
def test_what_changes_the_meaning_of_a_score_is_refused_and_named(tmp_path, other, message):
    with pytest.raises(ProtocolMismatch, match=message):
        check_comparable(two_runs(tmp_path, **other))


def test_the_names_are_those_of_the_settings():
    assert set(EVALUATION) | {"episodes", "every", "num_envs"} == set(EvaluationConfig.__dataclass_fields__)
    assert set(AGENT_ONLY) < set(EnvConfig.__dataclass_fields__)


def test_variants_games_and_seeds_of_one_preset_compare_without_a_note(tmp_path):
    runs = [
        settings_run(tmp_path / f"{variant}-{seed}", build_config("smoke", variant, game, seed))
        for seed, (variant, game) in enumerate([("simple", "minatar/breakout"), ("evade", "minatar/freeway")])
    ]
    layers = [flatten(run.settings)["world_model.reward.event_layers"] for run in runs]
    assert layers == [[], ["translation", "weighting", "interaction"]]
    check_comparable(runs)
    check_distinct(runs)
    assert unexpected_differences(runs) == {}


def test_other_differences_are_listed_with_their_values(tmp_path):
    for index, variant in enumerate(("simple", "evade")):
        settings = {"game_speed": index, "machine": {"threads": index}, "schedule": {"iterations": 6 + index}}
        make_finished(tmp_path, variant, "minatar/breakout", index, 1.0, **settings)
    differences = {name: sorted(values) for name, values in unexpected_differences(read_runs([tmp_path])).items()}
    # `game_speed` only begins like the expected `game`.
    assert differences == {"game_speed": ["0", "1"], "schedule.iterations": ["6", "7"]}


@pytest.mark.parametrize("section", ["env", "evaluation"])
def test_settings_without_a_section_are_a_named_error(tmp_path, section):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0, **{section: None})
    with pytest.raises(RunError, match=rf"config.json has no section '{section}'.*: leave it out"):
        compare_runs(read_runs([tmp_path]))


def edit(run, **changes):
    document = json.loads(run.config.read_text())
    document.pop("sha256", None)
    settings = document["settings"] | changes.pop("settings", {})
    run.config.write_text(json.dumps(document | changes | {"settings": settings}))


def test_the_same_run_is_found_among_all_by_its_fingerprint(tmp_path):
    folders = [make_finished(tmp_path, "evade", "minatar/breakout", seed, 1.0) for seed in range(4)]
    check_distinct(read_runs([tmp_path]))
    edit(folders[3], fingerprint="evade-minatar/breakout-0")
    with pytest.raises(RunError, match="seed-0 and .*seed-3 are the same run"):
        check_distinct(read_runs([tmp_path]))


def test_the_same_run_is_found_by_its_settings_if_fingerprints_are_of_different_versions(tmp_path):
    folders = [make_finished(tmp_path, "evade", "minatar/breakout", seed, 1.0) for seed in range(3)]
    edit(folders[2], fingerprint="another", settings={"seed": 0, "machine": {"threads": 2}})
    with pytest.raises(RunError, match="seed-0 and .*seed-2 are the same run"):
        check_distinct(read_runs([tmp_path]))
