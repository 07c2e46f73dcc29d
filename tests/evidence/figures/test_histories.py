import numpy as np
import pytest

from evade.errors import FigureError
from evade.evidence.figures import variant_style
from evade.evidence.figures.histories import History, plot_histories

DREAM = History("dream", variant_style("evade"), [1, 2], [3.0, 5.0], [0.5, 0.0])
REAL = History("real", variant_style("evade"), [1, 3], [1.0, 2.0], [0.0, 0.0], faint=True)
LABELS = {"title": "breakout", "x_label": "iteration", "y_label": "return"}


def test_lines_and_bands_are_where_the_numbers_say():
    figure = plot_histories([REAL, DREAM], **LABELS)
    real, dream = figure.axes[0].lines
    assert np.array_equal(dream.get_xydata(), [(1, 3), (2, 5)])
    assert np.array_equal(real.get_xydata(), [(1, 1), (3, 2)])
    corners = {tuple(corner) for corner in figure.axes[0].collections[1].get_paths()[0].vertices}
    assert {(1, 2.5), (1, 3.5), (2, 5)} <= corners


def test_a_pair_has_one_colour_and_two_patterns_and_the_faint_one_comes_last():
    figure = plot_histories([REAL, DREAM], **LABELS)
    real, dream = figure.axes[0].lines
    assert real.get_color() == dream.get_color() == variant_style("evade").colour
    assert real.get_linestyle() != dream.get_linestyle()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dream", "real"]


def test_nothing_to_plot_is_an_error():
    with pytest.raises(FigureError, match="nothing to plot"):
        plot_histories([], **LABELS)
