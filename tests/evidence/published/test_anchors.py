from typing import get_args

from evade.evidence.paper import headline_scores
from evade.evidence.published import Certainty, read_anchor_costs, read_anchors, read_minatar
from evade.evidence.stats import iqm, mean, median, optimality_gap

METRICS = {"mean_hns", "median_hns", "iqm", "iqm_of_means", "optimality_gap", "num_superhuman"}


def test_every_anchor_says_what_it_is_how_sure_and_from_where():
    for anchor in read_anchors():
        assert anchor.metric in METRICS
        assert anchor.certainty in get_args(Certainty)
        assert anchor.source
        assert anchor.runs_per_game in {"", "means", "5", "100"}
    keys = [(anchor.method, anchor.metric, anchor.certainty) for anchor in read_anchors()]
    assert len(set(keys)) == len(keys)


def test_the_field_is_covered():
    labels = {anchor.label for anchor in read_anchors()}
    assert {"DreamerV3", "IRIS", "STORM", "DIAMOND", "EfficientZero", "BBF", "SPR", "TWM", "MuZero"} <= labels
    assert len({anchor.method for anchor in read_anchors()}) == 21


def test_the_anchors_of_the_papers_own_methods_follow_from_its_data():
    compute = {
        "mean_hns": mean,
        "median_hns": median,
        "iqm": iqm,
        "iqm_of_means": iqm,
        "optimality_gap": optimality_gap,
    }
    checked = 0
    for anchor in read_anchors():
        if anchor.method in headline_scores() and anchor.metric in compute and anchor.certainty == "computed":
            value = compute[anchor.metric](headline_scores()[anchor.method])
            assert abs(value - anchor.value) < 5.1e-4, anchor
            checked += 1
    assert checked == 24


def test_costs_belong_to_anchors():
    assert {cost.method for cost in read_anchor_costs()} <= {anchor.method for anchor in read_anchors()}
    assert all(cost.certainty in get_args(Certainty) and cost.source for cost in read_anchor_costs())


def test_minatar_has_both_agents_in_five_games():
    assert len({(row.game, row.agent) for row in read_minatar()}) == len(read_minatar()) == 10
    assert {row.game for row in read_minatar()} == {"Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"}
