import pytest

from evade.evidence.paper import find_disagreements
from evade.evidence.paper.disagreements import CLAIMED_ADDED_PARAMETERS, added_parameters, agrees, superhuman_games


def test_all_four_are_found_and_no_other():
    found = find_disagreements()
    assert [row.where for row in found] == [
        "section Results, paired t-test over 26 games",
        "section Results, games above the human",
        "section Ablation Studies, parameters added by EVaDE",
        "tab:all_mean_scores, EVaDE-SimPLe, Breakout, mean",
    ]
    p_value, games, parameters, breakout = found
    assert (p_value.printed, p_value.recomputed) == ("single-tailed p = 0.003", "one-sided 0.0015, two-sided 0.0030")
    assert "two-tailed" in p_value.explanation
    assert "Asterix has HNS 0.13, Assault has HNS 1.55: the fifth game is Assault" in games.explanation
    assert parameters.recomputed == "0.2995M shared, 0.4306M unshared"
    assert (breakout.printed, breakout.recomputed) == ("24.024", "24.044")


def test_five_games_are_above_the_human():
    assert superhuman_games() == ["Assault", "Boxing", "CrazyClimber", "Freeway", "Krull"]


def test_only_an_unshared_last_stage_has_as_many_parameters_as_printed():
    assert added_parameters(share_last_stage=True) == 299_520
    assert added_parameters(share_last_stage=False) == 430_592
    assert agrees("0.43", added_parameters(share_last_stage=False) / 1e6)
    assert not agrees("0.43", added_parameters(share_last_stage=True) / 1e6)
    assert CLAIMED_ADDED_PARAMETERS == 430_000


@pytest.mark.parametrize(
    ("printed", "value", "expected"),
    [
        ("0.4", 0.403, True),
        ("0.40", 0.403, True),
        ("0.40", 0.4051, False),
        ("576", 576.35, True),
        ("576", 576.6, False),
        ("-1.1438", -1.1438, True),
        ("24.024", 24.044, False),
    ],
)
def test_agreement_is_at_the_printed_digits(printed, value, expected):
    assert agrees(printed, value) is expected
