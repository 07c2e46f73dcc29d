"""Every headline number of the paper comes out of its own runs, to the digits it prints."""

import pytest

from evade.evidence.paper import ABLATION, HEADLINE, ablation_scores, headline_scores
from evade.evidence.paper.disagreements import agrees
from evade.evidence.paper.recompute import printed, recompute
from evade.evidence.published import read_printed
from evade.evidence.stats import best_of_counts, iqm, mean, median, paired_t_test, wins_and_losses


def rounded(metric, scores, methods, digits):
    return [round(metric(scores[method]), digits) for method in methods]


def test_mean_and_median_of_the_headline_table():
    assert rounded(mean, headline_scores(), HEADLINE, 3) == [0.443, 0.525, 0.381, 0.264, 0.285, 0.682]
    assert rounded(median, headline_scores(), HEADLINE, 3) == [0.144, 0.151, 0.175, 0.204, 0.161, 0.267]


def test_iqm_of_the_two_agents_with_runs():
    assert rounded(iqm, headline_scores(), ("evade", "simple30"), 3) == [0.339, 0.202]


def test_wins_and_losses_against_evade():
    scores = headline_scores()
    records = [wins_and_losses(scores[method], scores["evade"]).show(0) for method in HEADLINE[:-1]]
    assert records == ["7W,19L", "3W,23L", "9W,17L", "6W,20L", "9W,17L"]


def test_best_of_counts():
    assert list(best_of_counts(headline_scores()).values()) == [5, 2, 4, 1, 3, 11]


def test_ablation():
    assert rounded(mean, ablation_scores(), ABLATION, 2) == [0.52, 0.56, 0.65, 0.69, 0.77]
    assert rounded(iqm, ablation_scores(), ABLATION, 2) == [0.22, 0.29, 0.26, 0.29, 0.40]
    scores = ablation_scores()
    records = [wins_and_losses(scores[method], scores["simple30"]).show(0) for method in ABLATION[1:]]
    assert records == ["8W,4L", "9W,3L", "11W,1L", "11W,1L"]


def test_the_paired_t_test():
    test = paired_t_test(headline_scores()["evade"], headline_scores()["simple30"])
    assert round(test.statistic, 3) == 3.287
    assert round(test.p_two_sided, 4) == 0.0030
    assert round(test.p_one_sided, 4) == 0.0015


@pytest.mark.parametrize("value", read_printed(), ids=lambda row: "-".join(filter(None, row[:3])))
def test_every_printed_value_but_the_p_value_follows_from_the_runs(value):
    assert agrees(value.printed, recompute(value)) == (value.metric != "p_value")


def test_what_is_not_printed_is_none():
    assert printed("curl", "iqm", "section Results") is None
    assert printed("evade", "iqm", "section Results") == "0.339"
