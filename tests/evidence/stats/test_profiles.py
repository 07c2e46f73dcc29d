import numpy as np
import pytest

from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import performance_profile, profile_with_band


def test_agrees_with_rliable_on_the_papers_runs(golden):
    for scores, expected in ((headline_scores(), golden["all_26"]), (ablation_scores(), golden["ablation"])):
        for name in expected:
            profile = performance_profile(scores[name], golden["thresholds"])
            np.testing.assert_allclose(profile, expected[name]["profile"], atol=1e-12)


def test_by_hand_with_games_of_different_size():
    scores = {"a": [0.0, 1.0], "b": [2.0]}
    np.testing.assert_allclose(performance_profile(scores, [-1, 0, 0.5, 1, 2]), [1, 0.75, 0.75, 0.5, 0])


def test_the_band_holds_the_profile_and_falls():
    profile = profile_with_band(headline_scores()["evade"], np.linspace(0, 2, 21), num_resamples=500)
    assert np.all(profile.low <= profile.share + 1e-12)
    assert np.all(profile.share <= profile.high + 1e-12)
    for line in (profile.low, profile.share, profile.high):
        assert np.all(np.diff(line) <= 1e-12)


def test_the_band_of_one_threshold_spreads_as_the_binomial():
    scores = {"a": [0.0] * 20 + [1.0] * 20}
    profile = profile_with_band(scores, [0.5], num_resamples=20_000)
    assert profile.share[0] == pytest.approx(0.5)
    reach = 1.96 * np.sqrt(0.25 / 40)
    np.testing.assert_allclose([profile.low[0], profile.high[0]], [0.5 - reach, 0.5 + reach], atol=0.026)
