from dataclasses import replace

import pytest
import torch

from evade.benchmark.cases import (
    COMPILED,
    Case,
    frame_of,
    plan_cases,
    plan_memory_cases,
    settings_of,
    updates_per_rollout,
)
from evade.benchmark.contenders import BFLOAT16, FLOAT32, PLAIN, build_contestant
from evade.benchmark.cost import count_flops, random_observations
from evade.benchmark.options import Options
from evade.benchmark.processes import peak_bytes, stamp_loops
from evade.benchmark.work import prepare, random_rollout, steps_per_call
from evade.errors import ConfigError
from evade.layers import use_mean
from evade.world_models.blocks import UpStage

SMALL = Case("minatar", "dream", "evade", 4, (10, 10), FLOAT32, threads=1)


@pytest.mark.parametrize("task", ["fit", "dream", "ppo"])
def test_every_task_runs_with_every_contender_and_has_the_same_operations(task):
    counts = {count_flops(prepare(replace(SMALL, task=task, contender=each))) for each in (PLAIN, FLOAT32, BFLOAT16)}
    assert len(counts) == 1
    assert counts.pop() > 0


def test_the_updates_of_the_papers_rollout():
    # Ours learns from all 50 steps: 150 time indices in minibatches of 20.
    assert updates_per_rollout(Case("paper", "ppo", "simple", 16, (105, 80), FLOAT32, threads=1)) == 7


def test_the_operations_of_the_papers_dream_step():
    # By hand, for one frame: 2 x inputs x outputs x taps x cells for each layer of the network at 105x80.
    case = Case("paper", "dream", "simple", 1, (105, 80), PLAIN, threads=1)
    config, game = settings_of(case)
    contestant = build_contestant(PLAIN, config, game)
    frames = random_observations(config, game, 1, torch.device("cpu"))
    counted = count_flops(lambda: contestant.model.eval()(frames, torch.zeros(1, dtype=torch.long)))
    assert counted / 1e9 == pytest.approx(3.88, abs=0.02)


def test_bfloat16_computes_in_bfloat16_and_float32_does_not():
    config, game = settings_of(SMALL)
    # A width that no loop of ours is made for: torch's layers are looked at.
    config = replace(config, world_model=replace(config.world_model, hidden_size=24))
    frames = random_observations(config, game, 4, torch.device("cpu"))
    for contender, dtype in ((FLOAT32, torch.float32), (BFLOAT16, torch.bfloat16)):
        contestant = build_contestant(contender, config, game)
        use_mean(contestant.model.eval())
        seen = set()
        for module in contestant.model.modules():
            if isinstance(module, UpStage):
                module.convolution.register_forward_hook(lambda _, inputs, output, seen=seen: seen.add(output.dtype))
        contestant.model.predict(frames, torch.zeros(4, dtype=torch.long))
        assert seen == {dtype}
        assert contestant.policy(frames).logits.dtype == torch.float32


def test_a_random_rollout_is_what_ppo_takes():
    config, game = settings_of(SMALL)
    rollout = random_rollout(config, game, num_frames=1)
    assert rollout.observation.shape == (config.dream.horizon, 4, 1, game.channels, 10, 10)
    assert {field.shape[:2] for field in rollout} == {(config.dream.horizon, 4)}


def test_a_loop_makes_a_whole_rollout():
    assert steps_per_call(replace(SMALL, task="loop")) == settings_of(SMALL)[0].dream.horizon


class TestPlan:
    def test_the_sizes_are_the_presets_own(self):
        assert frame_of("paper") == (105, 80)
        assert frame_of("minatar") == (10, 10)
        for case in plan_cases(Options(quick=True), 2):
            config, game = settings_of(case)
            assert (game.height, game.width) == case.frame
            assert config.replay.batch_size == config.dream.num_envs == case.batch

    def test_the_threads_are_a_runs_own_unless_given(self):
        assert {(case.size, case.threads) for case in plan_cases(Options(), 7)} == {("paper", 7), ("minatar", 1)}
        asked = {(case.task, case.threads) for case in plan_cases(Options(threads=3), 7) if case.task != "loop"}
        assert {threads for _, threads in asked} == {3}

    def test_everything_asked_for_is_there_once_and_plain_comes_first(self):
        cases = plan_cases(Options(), 2)
        assert len(set(cases)) == len(cases)
        for size in ("paper", "minatar"):
            for task in ("fit", "dream", "ppo"):
                names = [case.contender for case in cases if (case.size, case.task) == (size, task)]
                assert names[0] == PLAIN
                assert {FLOAT32, BFLOAT16} <= set(names)
            assert COMPILED[size] in [case.contender for case in cases if case.size == size]
        batches = {case.batch for case in cases if case.size == "paper" and case.task == "dream"}
        assert batches == {1, 2, 4, 8, 16, 32}
        assert {case.batch for case in cases if case.size == "paper" and case.task == "fit"} == {4, 16}
        assert {case.frame for case in cases if case.size == "paper"} == {(53, 40), (105, 80), (210, 160)}
        assert {case.processes for case in cases if case.task == "loop"} == {1, 2}

    def test_nothing_is_compiled_unless_wanted(self):
        for options in (Options(compile=False), Options(quick=True)):
            assert not any(case.contender.is_compiled for case in plan_cases(options, 1))

    def test_memory_is_measured_once_for_each_contender_and_task(self):
        options = Options()
        chosen = plan_memory_cases(options, plan_cases(options, 1))
        kinds = [(case.size, case.task, case.contender) for case in chosen]
        assert len(set(kinds)) == len(kinds) == 2 * 3 * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "Invalid repeats = 0: must be at least 1"),
        ({"threads": -1}, "Invalid threads = -1: must be 0 to "),
        ({"size": "huge"}, "Invalid size = 'huge': must be one of all, paper, minatar"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Options(**options)


class Alone:
    def wait(self, timeout):
        return 0


def test_a_loop_runs_at_least_once_and_then_stops_in_time():
    case = replace(SMALL, task="loop")
    assert len(stamp_loops(case, 0.0, Alone())) == 2
    stamps = stamp_loops(case, 0.05, Alone())
    assert stamps == sorted(stamps)
    assert stamps[-2] - stamps[0] < 0.05 <= stamps[-1] - stamps[0]


def test_peak_memory_grows_with_what_is_held():
    before = peak_bytes()
    held = bytearray(before + 64 * 2**20)  # more than ever before
    for page in range(0, len(held), 4096):
        held[page] = 1
    assert peak_bytes() >= before + 64 * 2**20
