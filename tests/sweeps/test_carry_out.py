import os
import signal

from evade.sweeps.carry_out import DIVERGED, LOST, MOST_LOSSES, carry_out
from evade.sweeps.plan import PlannedRun
from listening import Listener

RUNS = [PlannedRun("smoke", "minatar/breakout", "evade", seed, (), f"smoke/seed-{seed}", 2) for seed in range(5)]


class ScriptedJob:
    def __init__(self, engine, code):
        self.engine, self.code, self.polls, self.stops = engine, code, 0, 0

    def poll(self):
        self.polls += 1
        code = self.code if self.stops else (None if self.code == "endless" or self.polls < 2 else self.code)
        code = 75 if code == "endless" else code
        if code is not None:
            self.engine.active -= 1
        return code

    def stop(self):
        self.stops += 1


class ScriptedEngine:
    """Ends each run with the next of its codes; "held" means another process works on it."""

    def __init__(self, slots, codes):
        self.slots, self.codes = slots, {run: list(codes.get(run, [0])) for run in RUNS}
        self.active = self.most_active = 0
        self.jobs, self.on_start = [], lambda: None

    def start(self, run):
        code = self.codes[run].pop(0)
        if code == "held":
            return None
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        self.jobs.append(ScriptedJob(self, code))
        self.on_start()
        return self.jobs[-1]


def play(engine, retries=1):
    listener = Listener()
    return carry_out(RUNS, engine, listener, retries), listener.events


def test_no_more_runs_than_slots_and_all_of_them_end(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    engine = ScriptedEngine(2, {})
    outcome, events = play(engine)
    assert engine.most_active == 2
    assert not outcome.failed
    assert sorted(seed for word, seed, *_ in events if word == "ended") == [0, 1, 2, 3, 4]


def test_a_failing_run_is_retried_then_given_up_while_the_others_go_on(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    engine = ScriptedEngine(2, {RUNS[0]: [1, -9, 1], RUNS[1]: [1, 0]})
    outcome, events = play(engine, retries=2)
    assert outcome.failed == {RUNS[0]: 1}
    assert [event for event in events if event[:2] == ("started", 0)] == [("started", 0, n) for n in (1, 2, 3)]
    assert ("ended", 1, 0, False) in events
    assert {event[1] for event in events if event[2:] == (0, False)} == {1, 2, 3, 4}


def test_a_diverged_run_is_not_retried_because_it_would_diverge_again(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    outcome, _ = play(ScriptedEngine(2, {RUNS[2]: [DIVERGED]}), retries=5)
    assert outcome.failed == {RUNS[2]: DIVERGED}


def test_a_lost_machine_is_no_failure_of_the_run_but_not_for_ever(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    engine = ScriptedEngine(2, {RUNS[0]: [LOST] * MOST_LOSSES + [0], RUNS[1]: [LOST] * (MOST_LOSSES + 1)})
    outcome, _ = play(engine, retries=0)
    assert outcome.failed == {RUNS[1]: LOST}


def test_a_run_that_another_process_holds_is_tried_again_later(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    outcome, events = play(ScriptedEngine(1, {RUNS[0]: ["held"] * 3 + [0]}), retries=0)
    assert not outcome.failed
    assert events[-1] == ("ended", 0, 0, False)


def test_a_signal_stops_all_once_and_starts_nothing_more(monkeypatch):
    monkeypatch.setattr("evade.sweeps.carry_out.POLL_SECONDS", 0)
    engine = ScriptedEngine(2, {run: ["endless"] for run in RUNS})
    engine.on_start = lambda: len(engine.jobs) == 2 and os.kill(os.getpid(), signal.SIGINT)
    before = signal.getsignal(signal.SIGINT)
    outcome, _ = play(engine)
    assert outcome.is_stopped
    assert not outcome.failed
    assert [job.stops for job in engine.jobs] == [1, 1]
    assert signal.getsignal(signal.SIGINT) is before
