"""What must be equal for scores to be compared, and what counts as the same run."""

import dataclasses
import json

import pytest

from evade.config import EvaluationConfig, fingerprint, flatten, to_document
from evade.config.presets import build_config
from evade.envs.settings import EnvConfig
from evade.errors import RunError
from evade.evidence.results import compare_runs, read_run, read_runs
from evade.evidence.results.comparability import (
    AGENT_ONLY,
    EVALUATION,
    check_distinct,
    label_runs,
    name_labels,
    paper_method,
    protocol,
    split_by_protocol,
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
    assert [len(group.runs) for group in split_by_protocol(runs)] == [2]
    assert len(compare_runs(runs).suites) == 1


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"env": ENV | {"frame_skip": 1}}, "env.frame_skip is 1, not 4"),
        ({"env": ENV | {"new": {"nested": 1}}}, "env.new.nested is 1, not absent"),
        ({"evaluation": PLAYED | {"temperature": 0.5}}, "evaluation.temperature is 0.5, not 1.0"),
        ({"evaluation": PLAYED | {"max_noops": None}}, "evaluation.max_noops is None, not 8"),
        ({"evaluation": PLAYED | {"time_limit": 50}}, "evaluation.time_limit is 50, not 100"),
        ({"evaluation": PLAYED | {"final_episodes": 5}}, "evaluation.final_episodes is 5, not 10"),
        ({"versions": VERSIONS | {"evaluation_version": 2}}, "evaluation_version is 2, not 1"),
        ({"versions": VERSIONS | {"preprocessing_version": 2}}, "preprocessing_version is 2, not 1"),
    ],
)
def test_runs_whose_scores_mean_something_else_are_kept_apart_and_the_difference_is_named(tmp_path, other, message):
    make_finished(tmp_path, "simple", "minatar/breakout", 1, 1.0, env=ENV, evaluation=PLAYED)
    first, second = split_by_protocol(two_runs(tmp_path, **other))
    assert [run.variant for run in first.runs] == ["simple", "simple"]
    assert [run.variant for run in second.runs] == ["evade"]
    assert (first.difference, second.difference) == ("", message)


def test_runs_of_one_variant_with_other_settings_are_told_apart_by_them(tmp_path):
    def labels(*documents):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for seed, document in enumerate(documents):
            make_finished(folder, document.pop("variant", "evade"), "minatar/breakout", seed, 1.0, **document)
        return label_runs(sorted(read_runs([folder]), key=lambda run: run.seed))

    assert labels({}, {}) == ["evade", "evade"]
    assert labels({"preset": "quick"}, {"preset": "minatar"}) == ["evade (quick)", "evade (minatar)"]
    clips = [{"learner": {"clip": clip, "epochs": 2}} for clip in (0.1, 0.2)]
    assert labels(*clips) == ["evade (clip=0.1)", "evade (clip=0.2)"]
    # A variant whose own runs agree keeps its plain name.
    assert labels({"variant": "simple", "preset": "quick"}, {}) == ["simple", "evade"]
    many = [{"learner": dict.fromkeys("abc", value)} for value in (1, 2)]
    one, other = labels(*many)
    assert one != other
    assert one.startswith("evade (settings ")


def test_figures_name_an_agent_by_the_papers_method_that_it_is(tmp_path):
    presets = ("atari100k", "atari100k-simple")
    runs = [
        settings_run(tmp_path / f"{preset}-{variant}", build_config(preset, variant, "atari/pong"))
        for preset in presets
        for variant in ("simple", "evade")
    ]
    assert [paper_method(run.settings) for run in runs] == ["simple30", "evade", "simple15", None]
    assert name_labels(runs) == {
        "simple (atari100k)": "simple (atari100k)",
        "evade (atari100k)": "evade (atari100k)",
        "simple (atari100k-simple)": "simple15 (atari100k-simple)",
        "evade (atari100k-simple)": "evade (atari100k-simple)",
    }
    assert name_labels(runs[2:3]) == {"simple": "simple15"}


@pytest.mark.parametrize("model", [None, [], {}, {"kind": ["a"]}, {"kind": "mine", "reward": 3}])
def test_the_paper_has_the_variant_of_a_run_whose_model_cannot_be_told(tmp_path, model):
    make_finished(tmp_path, "simple", "atari/pong", 0, 1.0, world_model=model)
    make_finished(tmp_path, "my own", "atari/pong", 0, 1.0, world_model=model)
    methods = {run.variant: paper_method(run.settings) for run in read_runs([tmp_path])}
    assert methods == {"simple": "simple30", "my own": None}


def test_quick_runs_are_compared_beside_the_preset_they_are_made_of(tmp_path):
    runs = [
        settings_run(tmp_path / f"{preset}-{variant}", build_config(preset, variant))
        for preset in ("quick", "minatar")
        for variant in ("simple", "evade")
    ]
    comparison = compare_runs([*runs, settings_run(tmp_path / "smoke", build_config("smoke", "evade"))], "simple")
    main, smoke = comparison.suites
    assert list(main.raw) == ["simple (minatar)", "simple (quick)", "evade (minatar)", "evade (quick)"]
    assert main.pair_with("simple")[0] == {
        "evade (minatar)": "simple (minatar)",
        "evade (quick)": "simple (quick)",
    }
    assert (smoke.title, list(smoke.raw)) == ("MinAtar, protocol 2", ["evade"])
    assert any("protocol 2 is kept apart" in note and str(tmp_path / "smoke") in note for note in comparison.notes)


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
    assert len(split_by_protocol(runs)) == 1
    check_distinct(runs)
    assert unexpected_differences(runs) == {}


def test_other_differences_are_listed_with_their_values(tmp_path):
    for index, variant in enumerate(("simple", "evade")):
        settings = {"game_speed": index, "machine": {"threads": index}, "schedule": {"iterations": 6 + index}}
        make_finished(tmp_path, variant, "minatar/breakout", index, 1.0, **settings)
    differences = {name: sorted(values) for name, values in unexpected_differences(read_runs([tmp_path])).items()}
    # `game_speed` only begins like the expected `game`.
    assert differences == {"game_speed": ["0", "1"], "schedule.iterations": ["6", "7"]}


def test_settings_of_event_layers_do_not_tell_runs_without_them_apart(tmp_path):
    def labels(variant):
        config = build_config("smoke", variant, seed=1)
        reward = dataclasses.replace(config.world_model.reward, prior_scale=0.1)
        later = dataclasses.replace(
            config,
            seed=2,
            dream=dataclasses.replace(config.dream, beside_games=3),
            world_model=dataclasses.replace(config.world_model, reward=reward),
        )
        return label_runs([settings_run(tmp_path / f"{variant}-{each.seed}", each) for each in (config, later)])

    assert labels("simple") == ["simple", "simple"]
    assert labels("evade") == [
        f"evade (beside_games={count}, prior_scale={scale})" for count, scale in ((1, 0.3), (3, 0.1))
    ]
    assert unexpected_differences(read_runs([tmp_path])).keys() == {
        "dream.beside_games",
        "world_model.reward.prior_scale",
    }


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
