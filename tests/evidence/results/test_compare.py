import shutil

import pytest

from evade.errors import RunError, UnknownMethod
from evade.evidence.results import compare_runs, read_runs
from run_folders import VERSIONS, make_finished, make_run


def compare(folder, baseline=None):
    return compare_runs(read_runs([folder]), baseline)


def test_runs_are_grouped_by_suite_variant_and_game(tmp_path):
    make_finished(tmp_path, "simple", "atari/ms_pacman", 1, 300.0, 500.0)
    make_finished(tmp_path, "simple", "atari/ms_pacman", 0, 100.0)
    make_finished(tmp_path, "evade", "atari/breakout", 0, 4.0)
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 7.0)
    make_finished(tmp_path, "evade", "atari/tennis", 0, -1.0)
    make_finished(tmp_path, "evade", "some.module:Game-v0", 0, 2.0)
    suites = {scores.suite.name: scores.raw for scores in compare(tmp_path).suites}
    assert suites == {
        "atari": {"evade": {"Breakout": (4.0,)}, "simple": {"MsPacman": (100.0, 400.0)}},
        "minatar": {"evade": {"Breakout": (7.0,)}},
        "other": {"evade": {"atari/tennis": (-1.0,), "some.module:Game-v0": (2.0,)}},
    }


def test_normalisation_is_that_of_the_suite(tmp_path):
    make_finished(tmp_path, "evade", "atari/breakout", 0, 30.5)
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 10.0)
    make_finished(tmp_path, "evade", "Game-v0", 0, 3.0)
    atari, minatar, other = compare(tmp_path).suites
    assert atari.normalised["evade"]["Breakout"] == pytest.approx([(30.5 - 1.7) / (30.5 - 1.7)])
    assert minatar.normalised["evade"]["Breakout"] == pytest.approx([1.0])
    assert other.normalised == other.raw


def test_unfinished_runs_are_left_out_and_named(tmp_path):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0)
    make_run(tmp_path / "running", status="running", seed=1)
    make_run(tmp_path / "new", finals=(), seed=2)
    comparison = compare(tmp_path)
    assert comparison.suites[0].raw == {"evade": {"Breakout": (1.0,)}}
    assert comparison.notes == (
        f"Left out: {tmp_path / 'new'} is not finished (new).",
        f"Left out: {tmp_path / 'running'} is not finished (running).",
    )


def test_nothing_finished_is_an_error(tmp_path):
    make_run(tmp_path / "running", status="running")
    with pytest.raises(RunError, match="none of the 1 runs is finished"):
        compare(tmp_path)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"evaluation": {"temperature": 0.0}}, "evaluation.temperature is 0.0, not 1.0"),
        ({"env": {"frame_skip": 4}}, "env.frame_skip is 4, not absent"),
        ({"versions": VERSIONS | {"preprocessing_version": 2}}, "preprocessing_version is 2, not 1"),
        ({"versions": VERSIONS | {"evaluation_version": 3}}, "evaluation_version is 3, not 1"),
    ],
)
def test_protocols_are_not_mixed_and_the_difference_is_named(tmp_path, other, named):
    usual = {"evaluation": {"temperature": 1.0}, "env": {}}
    for seed in range(2):
        make_finished(tmp_path, "simple", "minatar/breakout", seed, 1.0, **usual)
    run = make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0, **(usual | other))
    comparison = compare(tmp_path)
    assert [list(scores.raw) for scores in comparison.suites] == [["simple"], ["evade"]]
    assert comparison.notes == (
        f"MinAtar, protocol 2 is kept apart, because its scores mean something else ({named}): {run.path}.",
    )


def test_an_unfinished_run_of_another_protocol_does_no_harm(tmp_path):
    make_finished(tmp_path, "simple", "minatar/breakout", 0, 1.0)
    make_run(tmp_path / "half", status="stopped", env={"frame_skip": 4})
    assert len(compare(tmp_path).notes) == 1


def test_a_copied_run_is_not_counted_twice(tmp_path):
    run = make_finished(tmp_path, "simple", "minatar/breakout", 0, 1.0)
    shutil.copytree(run.path, tmp_path / "copy")
    with pytest.raises(RunError, match="are the same run"):
        compare(tmp_path)


def test_other_settings_that_differ_are_noted(tmp_path):
    make_finished(tmp_path, "simple", "minatar/breakout", 0, 1.0, schedule={"iterations": 6}, machine={"threads": 1})
    make_finished(tmp_path, "evade", "minatar/freeway", 1, 1.0, schedule={"iterations": 15}, machine={"threads": 2})
    (note,) = compare(tmp_path).notes
    assert note == "These runs differ in more than game, variant and seed: schedule.iterations (6, 15)."


def test_the_baseline_comes_first(tmp_path):
    for variant in ("evade", "simple", "weighting"):
        make_finished(tmp_path, variant, "minatar/breakout", 0, 1.0)
    assert list(compare(tmp_path, "simple").suites[0].raw) == ["simple", "evade", "weighting"]


def test_a_baseline_of_the_paper_brings_the_games_that_we_have(tmp_path):
    make_finished(tmp_path, "evade", "atari/pong", 0, 3.0)
    make_finished(tmp_path, "evade", "atari/jamesbond", 0, 100.0)
    comparison = compare(tmp_path, "paper:simple30")
    raw = comparison.suites[0].raw
    assert {game: len(runs) for game, runs in raw["paper:simple30"].items()} == {"Jamesbond": 5, "Pong": 5}
    assert "paper's own protocol" in comparison.notes[-1]
    assert len(compare(tmp_path, "paper:curl").suites[0].raw["paper:curl"]["Pong"]) == 1


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ("simple", "the baseline 'simple' has no finished run: choose one of evade"),
        ("paper:muzero", "the paper prints no scores of 'muzero'"),
        ("paper:simple30", "no scores of 'paper:simple30' in the games of these runs"),
    ],
)
def test_a_baseline_without_scores_is_an_error(tmp_path, baseline, message):
    make_finished(tmp_path, "evade", "minatar/breakout", 0, 1.0)
    with pytest.raises(UnknownMethod, match=message):
        compare(tmp_path, baseline)
