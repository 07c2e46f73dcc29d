"""Figures show the values of the statistics, and nothing lies outside their edges."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from evade.errors import FigureError, ScoreError
from evade.evidence.figures import COLUMN_WIDTH, STYLES, plot_aggregates, plot_improvement, plot_profiles
from evade.evidence.paper import ablation_scores, headline_scores
from evade.evidence.stats import bootstrap_intervals, estimate, performance_profile

PAIR = {name: headline_scores()[name] for name in ("simple30", "evade")}


def assert_fits(figure):
    """Everything lies inside the figure, which is one column wide; all text is large enough to read."""
    figure.canvas.draw()
    box = figure.get_tightbbox()
    assert figure.get_figwidth() == COLUMN_WIDTH
    assert min(box.x0, box.y0) > -0.01
    assert box.x1 < figure.get_figwidth() + 0.01
    assert box.y1 < figure.get_figheight() + 0.01
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 5.5


def test_aggregates_show_each_interval_in_the_variants_colour():
    figure = plot_aggregates(PAIR, ("iqm",), num_resamples=500, seed=1)
    (axes,) = figure.axes
    for bar, name in zip(axes.patches, PAIR, strict=True):
        low, high = bootstrap_intervals(PAIR[name], ["iqm"], num_resamples=500, seed=1)["iqm"]
        assert (bar.get_x(), bar.get_x() + bar.get_width()) == pytest.approx((low, high))
        assert to_hex(bar.get_facecolor()).upper() == STYLES[name].colour
    assert_fits(figure)


def test_methods_without_runs_get_a_marker_or_a_note():
    figure = plot_aggregates(headline_scores(), is_published=True, num_resamples=200)
    mean_panel, _, iqm_panel, _ = figure.axes
    assert len(mean_panel.lines) == 4
    assert [text.get_text() for text in iqm_panel.texts] == ["only means published"] * 4
    assert_fits(figure)


def test_one_run_of_our_own_is_not_a_published_mean():
    scores = {"a": [1.0], "b": [2.0]}
    figure = plot_aggregates(dict.fromkeys(("evade", "simple15", "paper:simple15"), scores), num_resamples=200)
    mean_panel, _, iqm_panel, _ = figure.axes
    assert (len(mean_panel.lines), len(iqm_panel.lines)) == (3, 2)
    assert [text.get_text() for text in iqm_panel.texts] == ["only means published"]


def test_own_data_with_few_runs_are_markers_in_every_panel_and_no_two_look_alike():
    names = ["evade", "simple", "evade (quick)", "evade-wide", "mine"]
    figure = plot_aggregates({name: {"a": [1.0], "b": [2.0, 2.5]} for name in names}, num_resamples=200)
    for axes in figure.axes:
        assert [text.get_text() for text in axes.texts] == []
        assert not axes.patches
        assert len({to_hex(line.get_color()) for line in axes.lines}) == len(names)
        assert len({line.get_marker() for line in axes.lines}) == len(names)
    assert to_hex(figure.axes[0].lines[0].get_color()).upper() == STYLES["evade"].colour
    assert "fewer than 3 runs" in figure.get_supxlabel()
    assert_fits(figure)


def test_three_panels_leave_the_fourth_place_empty():
    figure = plot_aggregates(PAIR, ("mean", "median", "iqm"), num_resamples=200)
    assert [axes.get_visible() for axes in figure.axes] == [True, True, True, False]


def test_profiles_show_the_share_of_runs():
    figure = plot_profiles(ablation_scores(), num_resamples=100)
    (axes,) = figure.axes
    for line, (name, scores) in zip(axes.lines, ablation_scores().items(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), performance_profile(scores, line.get_xdata()))
        assert line.get_color() == STYLES[name].colour
        assert line.get_label() == STYLES[name].label
    assert_fits(figure)


def test_improvement_sorts_games_by_gain():
    figure = plot_improvement(PAIR["evade"], PAIR["simple30"], ("evade", "simple30"), num_resamples=200)
    (axes,) = figure.axes
    games = [label.get_text() for label in axes.get_yticklabels()]
    gains = [estimate(PAIR["evade"][game]).mean - estimate(PAIR["simple30"][game]).mean for game in games]
    assert gains == sorted(gains, reverse=True)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(gains)
    assert (games[0], games[-1], len(games)) == ("Krull", "Assault", 26)
    assert_fits(figure)


def test_nothing_to_plot_is_an_error():
    with pytest.raises(FigureError, match="nothing to plot"):
        plot_aggregates({})
    with pytest.raises(FigureError, match="nothing to plot"):
        plot_profiles({})
    with pytest.raises(ScoreError, match="not run on the same games"):
        plot_improvement(PAIR["evade"], ablation_scores()["simple30"], ("evade", "simple30"))
