import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

from evade.errors import FigureError
from evade.evidence.figures.learning_curve import plot_curve, plot_learning_curve
from evade.evidence.figures.style import new_figure, variant_style
from evade.evidence.stats import estimate

STEPS = [6400, 9600, 12800]
SCORES = [[0, 2], [1, 2, 3, 4], [5]]
LEVELS = {"random_score": 0.5, "reference": ("DQN", 4.0)}


def read_picture(path):
    with Image.open(path) as picture:
        return np.array(picture.convert("RGB"))


def count_pixels(image, colour):
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return (image == rgb).all(-1).sum()


def test_the_line_and_the_band_are_where_the_numbers_say():
    axes = new_figure(6.4, 3.8).add_subplot()
    plot_curve(axes, STEPS, [estimate(scores) for scores in SCORES], "#D55E00")
    (line,) = axes.lines
    assert np.array_equal(line.get_xydata(), [(6400, 1), (9600, 2.5), (12800, 5)])
    corners = axes.collections[0].get_paths()[0].vertices
    # The sample variance of 0, 2 is 2, of 1, 2, 3, 4 it is 5/3; divided by 2 and 4 episodes. A single episode: no band.
    error = np.sqrt(5 / 12)
    expected = {6400: (0.0, 2.0), 9600: (2.5 - error, 2.5 + error), 12800: (5.0, 5.0)}
    for step, band in expected.items():
        heights = corners[corners[:, 0] == step, 1]
        assert (heights.min(), heights.max()) == pytest.approx(band), step


def test_the_file_is_a_picture_with_the_colours_of_what_it_shows(tmp_path):
    path = tmp_path / "media" / "curve.png"
    plot_learning_curve(path, STEPS, SCORES, title="breakout", **LEVELS)
    image = read_picture(path)
    assert image.shape == (760, 1280, 3)
    for colour in (variant_style("evade").colour, "#8A8A8A", "#222222"):
        assert count_pixels(image, colour) > 200, colour


def test_the_final_score_is_a_point_and_the_paper_is_named(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "evade.evidence.figures.learning_curve.save_figure", lambda figure, path: saved.append(figure.axes[0])
    )
    plot_learning_curve(tmp_path / "c.png", STEPS, SCORES, title="t", final=(16000, [4.0, 6.0]), **LEVELS)
    (axes,) = saved
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "mean ± standard error over episodes",
        "random play: 0.5",
        "DQN in the paper: 4",
        "final score: 5.00 ± 1.00 over 2 episodes",
    ]
    assert [16000, 5.0] in [list(point) for line in axes.lines for point in line.get_xydata()]


def test_a_line_is_left_out_when_there_is_nothing_to_compare_with(tmp_path):
    paths = [tmp_path / name for name in ("all.png", "none.png")]
    plot_learning_curve(paths[0], STEPS, SCORES, title="t", **LEVELS)
    plot_learning_curve(paths[1], STEPS, SCORES, title="t", random_score=None, reference=None)
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
    ("steps", "scores", "message"),
    [([], [], "0 step counts"), ([1], [[1], [2]], "1 step counts"), ([1, 2], [[1, 1], []], r"\[2, 0\] episodes")],
)
def test_evaluations_that_make_no_curve_are_refused(tmp_path, steps, scores, message):
    with pytest.raises(FigureError, match=message):
        plot_learning_curve(tmp_path / "curve.png", steps, scores, title="t", **LEVELS)
    assert list(tmp_path.iterdir()) == []


def test_the_curve_has_its_variants_colour_and_no_others(tmp_path):
    plot_learning_curve(tmp_path / "curve.png", STEPS, SCORES, title="t", variant="weighting", **LEVELS)
    image = read_picture(tmp_path / "curve.png")
    assert count_pixels(image, variant_style("weighting").colour) > 200
    assert count_pixels(image, variant_style("evade").colour) == 0
