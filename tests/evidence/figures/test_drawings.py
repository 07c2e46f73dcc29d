"""What the figures show is what the statistics say, and nothing runs over their edges."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from evade.errors import FigureError, ScoreError
from evade.evidence.figures import COLUMN_WIDTH, VARIANTS, draw_aggregates, draw_improvement, draw_profiles
from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import bootstrap_intervals, estimate, performance_profile

PAIR = {name: headline_scores()[name] for name in ("simple30", "evade")}


def assert_fits(figure):
    """All that is drawn lies inside the figure, which is one column wide; all words are large enough to read."""
    figure.canvas.draw()
    drawn = figure.get_tightbbox()
    assert figure.get_figwidth() == COLUMN_WIDTH
    assert min(drawn.x0, drawn.y0) > -0.01
    assert drawn.x1 < figure.get_figwidth() + 0.01
    assert drawn.y1 < figure.get_figheight() + 0.01
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 5.5


def test_aggregates_draw_each_interval_in_the_variants_colour():
    figure = draw_aggregates(PAIR, ("iqm",), num_resamples=500, seed=1)
    (axes,) = figure.axes
    for bar, name in zip(axes.patches, PAIR, strict=True):
        low, high = bootstrap_intervals(PAIR[name], ["iqm"], num_resamples=500, seed=1)["iqm"]
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((low, high))
        assert to_hex(bar.get_facecolor()).upper() == VARIANTS[name].colour
    assert_fits(figure)


def test_methods_without_runs_get_a_mark_or_a_word():
    figure = draw_aggregates(headline_scores(), num_resamples=200)
    mean_panel, _, iqm_panel, _ = figure.axes
    assert len(mean_panel.lines) == 4
    assert [text.get_text() for text in iqm_panel.texts] == ["no single runs"] * 4
    assert_fits(figure)


def test_three_panels_leave_the_fourth_place_empty():
    figure = draw_aggregates(PAIR, ("mean", "median", "iqm"), num_resamples=200)
    assert [axes.get_visible() for axes in figure.axes] == [True, True, True, False]


def test_profiles_draw_the_share_of_runs():
    figure = draw_profiles(ablation_scores(), num_resamples=100)
    (axes,) = figure.axes
    for line, (name, scores) in zip(axes.lines, ablation_scores().items(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), performance_profile(scores, line.get_xdata()))
        assert line.get_color() == VARIANTS[name].colour
        assert line.get_label() == VARIANTS[name].label
    assert_fits(figure)


def test_improvement_sorts_games_by_gain():
    figure = draw_improvement(PAIR["evade"], PAIR["simple30"], ("evade", "simple30"), num_resamples=200)
    (axes,) = figure.axes
    games = [label.get_text() for label in axes.get_yticklabels()]
    gains = [estimate(PAIR["evade"][game]).mean - estimate(PAIR["simple30"][game]).mean for game in games]
    assert gains == sorted(gains, reverse=True)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(gains)
    assert (games[0], games[-1], len(games)) == ("Krull", "Assault", 26)
    assert_fits(figure)


def test_nothing_to_draw_is_an_error():
    with pytest.raises(FigureError, match="nothing to draw"):
        draw_aggregates({})
    with pytest.raises(FigureError, match="nothing to draw"):
        draw_profiles({})
    with pytest.raises(ScoreError, match="not run on the same games"):
        draw_improvement(PAIR["evade"], ablation_scores()["simple30"], ("evade", "simple30"))
