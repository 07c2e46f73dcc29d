import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from evade.errors import FigureError
from evade.evidence.figures.learning_curve import compute_curve, draw_learning_curve, plot_learning_curve
from evade.evidence.figures.style import new_figure, variant_style

STEPS = [6400, 9600, 12800]
RETURNS = [[0, 2], [1, 2, 3, 4], [5]]
LEVELS = {"random_score": 0.5, "reference": ("DQN", 4.0)}


def read_picture(path):
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB"))


def test_mean_and_standard_error_have_their_closed_form():
    curve = compute_curve(RETURNS)
    assert np.allclose(curve.mean, [1.0, 2.5, 5.0])
    # The sample variance of 0, 2 is 2, of 1, 2, 3, 4 it is 5/3; divided by 2 and 4 episodes.
    assert np.allclose(curve.standard_error, [1.0, np.sqrt(5 / 12), 0.0])


def test_the_line_and_the_band_are_where_the_numbers_say():
    axes = new_figure(6.4, 3.8).add_subplot()
    draw_learning_curve(axes, STEPS, compute_curve(RETURNS), "#D55E00")
    (line,) = axes.lines
    assert np.array_equal(line.get_xydata(), [(6400, 1), (9600, 2.5), (12800, 5)])
    corners = {tuple(corner) for corner in axes.collections[0].get_paths()[0].vertices}
    error = np.sqrt(5 / 12)
    assert {(6400, 0.0), (6400, 2.0), (9600, 2.5 - error), (9600, 2.5 + error), (12800, 5.0)} <= corners


def test_the_file_is_a_picture_with_the_colours_of_what_it_shows(tmp_path):
    path = tmp_path / "media" / "curve.png"
    plot_learning_curve(path, STEPS, RETURNS, title="breakout", **LEVELS)
    image = read_picture(path)
    assert image.shape == (760, 1280, 3)
    for colour in (variant_style("evade").colour, "#8A8A8A", "#222222"):
        rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (image == rgb).all(-1).sum() > 200, colour


def test_a_line_is_left_out_when_there_is_nothing_to_compare_with(tmp_path):
    paths = [tmp_path / name for name in ("all.png", "none.png")]
    plot_learning_curve(paths[0], STEPS, RETURNS, title="t", **LEVELS)
    plot_learning_curve(paths[1], STEPS, RETURNS, title="t", random_score=None, reference=None)
    grey = [(read_picture(path) == 0x8A).all(-1).sum() for path in paths]
    assert grey[0] > 200
    assert grey[1] < 20


def test_equal_curves_give_equal_bytes_and_settings_of_matplotlib_come_back(tmp_path):
    before = dict(mpl.rcParams)
    for name in ("one.png", "two.png"):
        plot_learning_curve(tmp_path / name, [0], [[1.0]], title="one evaluation", **LEVELS)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("steps", "returns", "told"),
    [([], [], "0 step counts"), ([1], [[1], [2]], "1 step counts"), ([1, 2], [[1, 1], []], r"\[2, 0\] episodes")],
)
def test_evaluations_that_make_no_curve_are_refused(tmp_path, steps, returns, told):
    with pytest.raises(FigureError, match=told):
        plot_learning_curve(tmp_path / "curve.png", steps, returns, title="t", **LEVELS)
    assert list(tmp_path.iterdir()) == []


def test_every_variant_has_its_own_colour():
    names = ("simple", "interaction", "weighting", "translation", "evade")
    assert len({variant_style(name).colour for name in names}) == 5
