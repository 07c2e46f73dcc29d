from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.cli.main import main
from evade.config.presets import build_config
from evade.errors import ConfigError, EvadeError, PlanError
from evade.runs.session import folder_of
from evade.sweeps.plan import SweepPlan, configure, expand, flags
from evade.sweeps.read_plan import plan_from, read_document
from evade.vocabulary.variants import VARIANTS

SIGMA = "world_model.reward.sigma_init"


def test_a_plan_is_every_combination_and_each_has_a_folder_of_its_own():
    plan = plan_from({"preset": "smoke", "games": "minatar", "variants": "all", "seeds": "1-3,7"})
    runs = expand(plan)
    assert len({run.folder for run in runs}) == len(runs) == 5 * len(VARIANTS) * 4
    assert {run.seed for run in runs} == {1, 2, 3, 7}
    # Seed by seed, so that the first results cover everything.
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)


def test_flags_and_a_file_say_the_same(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(
        'preset = "smoke"\ngames = ["minatar/breakout", "deepsea/10"]\n'
        'variants = ["simple", "evade"]\nseeds = [1, "3-4"]\n'
        "[settings.world_model.reward]\nsigma_init = [0.5, 1]\n[settings.replay]\npads_starts = false\n"
    )
    said = {"preset": "smoke", "games": "minatar/breakout,deepsea/10", "variants": "simple,evade", "seeds": "1,3-4"}
    words = [f"{SIGMA}=0.5,1", "replay.pads_starts=false"]
    assert plan_from(read_document(file)) == plan_from(said | {"settings": words})


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ((SIGMA, "1"),),  # a whole number for a setting that is not one
        ((SIGMA, "0.5"), ("replay.pads_starts", "false")),
        (("policy.filters", "4 8"),),
        (("evaluation.time_limit", "None"),),
        (("machine.threads", "2"),),
    ],
)
@pytest.mark.parametrize("variant", ["simple", "evade"])
def test_a_planned_folder_is_the_one_that_training_chooses(changes, variant, monkeypatch):
    settings = tuple((name, (value,)) for name, value in changes)
    games = ("minatar/breakout", "minatar/freeway")
    runs = expand(SweepPlan("smoke", games, (variant,), (5, 6), settings))
    chosen = []
    monkeypatch.setattr("evade.cli.train.run_to_the_end", lambda config, folder: chosen.append(folder.path) or 0)
    for run in runs:
        assert main(run.words(Path("runs"))) == 0
    assert chosen == [Path("runs") / run.folder for run in runs]


def test_settings_that_are_valid_only_together_can_be_changed_together():
    config = build_config("smoke", "evade", "minatar/breakout")
    with pytest.raises(ConfigError):
        configure(config, (("collect.num_envs", "3"),))
    changes = (("collect.num_envs", "3"), ("schedule.real_steps", "96"), ("schedule.first_real_steps", "120"))
    assert configure(config, changes).collect.num_envs == 3


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True))
def test_seeds_are_read_back(seeds):
    assert plan_from({"seeds": ",".join(map(str, seeds))}).seeds == tuple(seeds)


def test_flags_are_words_of_the_command_line():
    assert flags((("a.b_c", "1"), ("a.d_e", "true"), ("a.d_e", "false"), ("a.f", "1 2"))) == [
        *("--a.b-c", "1", "--a.d-e", "--a.no-d-e", "--a.f", "1", "2")
    ]


def test_the_seeds_folder_of_a_recipe_is_what_folder_of_says():
    (run,) = expand(SweepPlan("smoke", ("minatar/breakout",), ("evade",), (9,)))
    config = build_config("smoke", "evade", "minatar/breakout", 9)
    assert Path(run.folder) == folder_of(config, Path()).path


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"seeds": "5-1"}, "has no runs"),
        ({"seeds": "one"}, "Invalid seeds 'one'"),
        ({"variants": []}, "has no runs"),
        ({"colour": "red"}, "the plan has no colour"),
        ({"games": "minatar/breakot"}, "did you mean minatar/breakout"),
        ({"variants": "evad"}, "Unknown variant 'evad'"),
        ({"settings": ["seed=1"]}, "Invalid setting 'seed'"),
        ({"settings": ["a.b"]}, "Invalid --set 'a.b'"),
        ({"settings": [f"{SIGMA}=1,1.0"]}, "are the same run"),
        ({"settings": [f"{SIGMA}=-1"]}, "Invalid world_model.reward.sigma_init"),
    ],
)
def test_a_mistake_is_named(document, message):
    with pytest.raises(EvadeError, match=message):
        expand(plan_from({"preset": "smoke"} | document))


def test_a_file_that_is_no_plan_is_named(tmp_path):
    with pytest.raises(PlanError, match="none.toml cannot be read"):
        read_document(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("seeds = ")
    with pytest.raises(PlanError, match="bad.toml cannot be read"):
        read_document(tmp_path / "bad.toml")
