"""The estimate of the time left, on runs whose phases take known times."""

from dataclasses import replace

import pytest

from evade.config.presets import build_config
from evade.training.pace import NEEDED, Pace, count_units
from evade.training.progress import Progress, Silent
from evade.vocabulary.phases import ITERATION_NAMES

SECONDS = {"collect": 0.0004, "fit": 0.012, "draw": 0.0, "improve": 0.35, "evaluate": 0.03, "score": 0.03}
"""Per unit, about those of `quick` on one core."""


class Recording(Silent):
    def __init__(self):
        self.seen = []

    def overall(self, fraction, seconds_left=None):
        self.seen.append((fraction, seconds_left))


class Run:
    """A run in simulated time; `seconds_of(iteration, phase)` is what a unit takes."""

    def __init__(self, config, seconds_of=lambda iteration, phase: SECONDS[phase]):
        self.config, self.seconds_of, self.now = config, seconds_of, 0.0
        self.display = Recording()
        self.progress = Progress(self.display, config, lambda: self.now)
        self.estimates, self.timing = [], []

    def do(self, iteration, phase):
        units = count_units(self.config, iteration, phase)
        if not units:
            return
        start = self.now
        self.progress.begin(iteration, phase, units)
        for done in range(1, units + 1):
            self.now += self.seconds_of(iteration, phase)
            self.progress.advance(done)
            self.estimates.append((self.now, *self.display.seen[-1]))
        self.timing.append({"iteration": iteration, "phase": phase, "seconds": self.now - start})

    def finish(self, first=1):
        for iteration in range(first, self.config.schedule.iterations + 1):
            for phase in ITERATION_NAMES:
                self.do(iteration, phase)
        self.do(self.config.schedule.iterations + 1, "collect")
        self.do(self.config.schedule.iterations + 1, "score")
        return self.estimates


@pytest.fixture(scope="module")
def quick():
    config = build_config("quick", "evade")
    return replace(config, schedule=replace(config.schedule, first_fit_updates=1500, fit_updates=300))


def test_the_units_are_those_of_the_schedule(quick):
    assert [count_units(quick, 1, phase) for phase in ITERATION_NAMES] == [6400, 1500, 0, 16, 32]
    assert [count_units(quick, 2, phase) for phase in ITERATION_NAMES] == [3200, 300, 0, 16, 32]
    assert [count_units(quick, 5, phase) for phase in (*ITERATION_NAMES, "score")] == [3200, 0, 0, 0, 0, 100]
    sparse = replace(quick, evaluation=replace(quick.evaluation, every=2))
    assert [count_units(sparse, iteration, "evaluate") for iteration in (1, 2, 3)] == [0, 32, 0]


def test_the_estimate_of_a_steady_run_is_right_as_soon_as_there_is_one(quick):
    run = Run(quick)
    run.do(1, "collect")
    run.do(1, "fit")
    assert {left for _, _, left in run.estimates} == {None}, "nothing is known about dreams yet"
    for phase in ("draw", "improve", "evaluate"):
        run.do(1, phase)
    run.finish(2)
    end = run.now
    games = SECONDS["evaluate"] * (4 * 32 + 100)
    for now, fraction, left in run.estimates:
        # Until the first evaluation the games, a small part, are missing; shown at most every quarter of a second.
        if left is not None:
            assert left == pytest.approx(end - now, abs=games + 0.5)
            assert fraction == pytest.approx(now / end, abs=0.15)
    late = [(now, left) for now, _, left in run.estimates if left is not None and now > 0.5 * end]
    assert all(left == pytest.approx(end - now, abs=0.6) for now, left in late)


def test_the_estimate_follows_games_that_become_longer_and_the_bar_never_goes_back(quick):
    config = replace(quick, schedule=replace(quick.schedule, iterations=12))
    run = Run(config, lambda iteration, phase: SECONDS[phase] * (iteration if phase in ("evaluate", "score") else 1))
    estimates = run.finish()
    fractions = [fraction for _, fraction, _ in estimates]
    assert fractions == sorted(fractions)
    assert fractions[-1] > 0.97
    late = [(now, left) for now, _, left in estimates if now > 0.5 * run.now and left is not None]
    assert all(abs(left - (run.now - now)) < 0.35 * run.now for now, left in late)


def test_compiling_is_no_part_of_the_pace(quick):
    run = Run(quick)
    run.do(1, "collect")
    run.do(1, "fit")
    run.progress.begin(1, "improve", 16)
    run.now += 40.0
    run.progress.exclude(40.0)
    run.now += SECONDS["improve"]
    run.progress.advance(1)
    left = run.display.seen[-1][1]
    assert left == pytest.approx(0.35 * 63 + 0.012 * 900 + 0.0004 * 12800, rel=0.01)


def test_a_resumed_run_knows_its_pace_from_the_times_of_the_last_process(quick):
    first = Run(quick)
    for phase in ITERATION_NAMES:
        first.do(1, phase)
    again = Run(quick)
    again.progress.learn([*first.timing, {"iteration": 1, "phase": "compile", "seconds": 30.0}, {"phase": None}])
    again.progress.begin(2, "fit", 300, done=150)
    expected = 0.012 * 750 + 0.35 * 48 + 0.03 * 196 + 0.0004 * 9600
    assert again.display.seen[-1][1] == pytest.approx(expected)


def test_without_every_needed_phase_there_is_no_estimate(quick):
    for missing in NEEDED:
        pace = Pace(quick, {name: 1.0 for name in NEEDED if name != missing})
        assert pace.split(1, "fit", 3) is None
