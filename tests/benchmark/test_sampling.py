import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.benchmark.sampling import Summary, compute_joint_rate, interleave, summarise, time_once


def test_the_summary_of_five_known_samples():
    assert summarise([9.0, 1.0, 5.0, 3.0, 7.0]) == Summary(5.0, 1.0, 3.0, 7.0, 9.0, 5)


def test_quartiles_between_two_samples_are_interpolated():
    assert summarise([1.0, 2.0]) == Summary(1.5, 1.0, 1.25, 1.75, 2.0, 2)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=9))
def test_a_summary_is_ordered(samples):
    summary = summarise(samples)
    ordered = [summary.minimum, summary.lower_quartile, summary.median, summary.upper_quartile, summary.maximum]
    assert ordered == sorted(ordered)
    assert summary.repeats == len(samples)


def test_samples_are_interleaved():
    calls = []

    def sample(name):
        calls.append(name)
        return float(len(calls))

    sampled = []
    samples = interleave({name: lambda name=name: sample(name) for name in "abc"}, 3, sampled.append)
    assert calls == sampled == list("abcabcabc")
    assert samples == {"a": [1, 4, 7], "b": [2, 5, 8], "c": [3, 6, 9]}


def test_a_call_is_timed_once():
    calls = []
    assert 0 <= time_once(lambda: calls.append(1)) < 1
    assert calls == [1]


def test_the_rate_of_one_process_is_its_loops_over_its_time():
    assert compute_joint_rate([[10.0, 11.0, 12.0, 14.0]]) == pytest.approx(3 / 4)


def test_the_rates_of_two_processes_add_up_while_both_are_running():
    # From 1 to 4: the first makes 3 loops, the second 1.5 of its 2-second loops.
    assert compute_joint_rate([[0, 1, 2, 3, 4], [1, 3, 5]]) == pytest.approx((3 + 1.5) / 3)
