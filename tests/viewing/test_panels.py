import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import ShapeError
from evade.viewing.panels import (
    ADDED,
    BORDER,
    CANVAS,
    CHART_HEIGHT,
    CONDITIONED,
    DRAW_COLOURS,
    DREAMING,
    LINE_HEIGHT,
    MARGIN,
    MISSED,
    NEUTRAL,
    captioned,
    compare_strip,
    draws_strip,
    panel_factor,
    reward_caption,
    upscale,
)

TITLE = LINE_HEIGHT + MARGIN


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))
def test_upscaling_repeats_every_cell_and_nothing_else(height, width, factor):
    image = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    large = upscale(image, factor)
    assert large.shape == (height * factor, width * factor, 3)
    assert all(np.array_equal(large[i::factor, j::factor], image) for i in range(factor) for j in range(factor))


@pytest.mark.parametrize(("rows", "shown"), [(10, 320), (105, 315), (53, 318), (210, 420), (1000, 1000)])
def test_panels_are_about_320_pixels_high(rows, shown):
    assert rows * panel_factor(rows) == shown


def test_a_caption_is_written_below_and_leaves_the_image_alone():
    image = np.full((20, 400, 3), 77, np.uint8)
    shown = captioned(image, ["step 3", "return 12"])
    assert shown.shape == (20 + 2 * LINE_HEIGHT + 2 * MARGIN, 400, 3)
    assert np.array_equal(shown[:20], image)
    for line in (0, 1):
        top = 20 + MARGIN + line * LINE_HEIGHT
        strip = shown[top : top + LINE_HEIGHT]
        assert (strip.min(-1) > 200).sum() > 20, "bright letters on dark ground"
        assert np.array_equal(shown[top, -1], CANVAS)


def test_different_words_look_different_and_have_one_size():
    image = np.zeros((20, 20, 3), np.uint8)
    one, other = captioned(image, ["reward 1"]), captioned(image, ["reward 0"])
    assert one.shape == other.shape
    assert not np.array_equal(one, other)


def test_a_narrow_image_is_widened_for_its_caption_and_stays_in_the_middle():
    image = np.full((10, 100, 3), 200, np.uint8)
    shown = captioned(image, ["step 3"])
    assert shown.shape[1] == 320
    assert np.array_equal(shown[:10, 110:210], image)
    assert np.array_equal(shown[0, 109], CANVAS)


def test_a_long_line_is_cut_inside_the_image():
    image = np.zeros((10, 320, 3), np.uint8)
    long, longer = captioned(image, ["reward " * 30]), captioned(image, ["reward " * 60])
    assert np.array_equal(long, longer)
    assert np.array_equal(long[:, -1], np.concatenate([image[:, -1], np.full((38, 3), CANVAS)]))


def test_no_caption_adds_nothing():
    image = np.full((20, 400, 3), 77, np.uint8)
    assert np.array_equal(captioned(image, []), image)


def test_the_reward_line_names_both_and_says_when_they_differ():
    assert reward_caption(1, 1) == "reward:  predicted 1,  true 1"
    assert reward_caption(-0.0, -1) == "reward:  predicted 0,  true -1  (wrong)"
    assert reward_caption(-1.5e-7, 0) == "reward:  predicted 0,  true 0"
    assert reward_caption(0.724, 1) == "reward:  predicted 0.72,  true 1"
    assert reward_caption(0.31, 1) == "reward:  predicted 0.31,  true 1  (wrong)"


def panels(strip, rows, columns):
    """Cut the three framed panels out of a strip."""
    factor = panel_factor(rows)
    height, width = rows * factor + 2 * BORDER, columns * factor + 2 * BORDER
    lefts = [MARGIN + index * (width + MARGIN) for index in range(3)]
    return [strip[TITLE : TITLE + height, left : left + width] for left in lefts]


@pytest.mark.parametrize(("rows", "columns"), [(10, 10), (105, 80)])
@pytest.mark.parametrize("is_dreaming", [False, True])
def test_a_strip_shows_game_dream_and_difference_in_their_frames(rows, columns, is_dreaming):
    rng = np.random.default_rng(0)
    game, dream = rng.integers(0, 256, (2, rows, columns, 3), dtype=np.uint8)
    shown = panels(compare_strip(game, dream, ["step 1"], is_dreaming), rows, columns)
    factor = panel_factor(rows)
    inside = [panel[BORDER:-BORDER, BORDER:-BORDER] for panel in shown]
    assert np.array_equal(inside[0], upscale(game, factor))
    assert np.array_equal(inside[1], upscale(dream, factor))
    for panel, border in zip(shown, [NEUTRAL, DREAMING if is_dreaming else CONDITIONED, NEUTRAL], strict=True):
        assert np.array_equal(panel[0], np.broadcast_to(border, panel[0].shape))
        assert np.array_equal(panel[:, -1], np.broadcast_to(border, panel[:, -1].shape))


def test_the_borders_are_green_and_red():
    assert max(CONDITIONED) == CONDITIONED[1]
    assert max(DREAMING) == DREAMING[0]


def test_the_difference_tells_what_the_dream_added_and_missed():
    game, dream = np.zeros((2, 10, 10, 3), np.uint8)
    game[0, 0] = 255
    dream[9, 9] = 255
    dream[5, 5, 0] = 64
    difference = panels(compare_strip(game, dream, [], True), 10, 10)[2][BORDER + 16 :: 32, BORDER + 16 :: 32]
    assert tuple(difference[0, 0]) == MISSED
    assert tuple(difference[9, 9]) == ADDED
    assert np.array_equal(difference[5, 5], np.rint(np.array(ADDED) * np.sqrt(64 / 255)))
    assert difference.any(-1).sum() == 3


def test_frames_of_different_size_cannot_be_compared():
    with pytest.raises(ShapeError, match=r"\[10, 10, 3\].*\[10, 12, 3\]"):
        compare_strip(np.zeros((10, 10, 3), np.uint8), np.zeros((10, 12, 3), np.uint8), [], True)


def chart_rows(strip, colour):
    """Mean row of a draw's curve at each of its columns, below the panels."""
    is_curve = (strip[strip.shape[0] - CHART_HEIGHT :] == colour).all(-1)
    columns = np.flatnonzero(is_curve.any(0))
    return columns, np.array([np.flatnonzero(is_curve[:, column]).mean() for column in columns])


def test_draws_are_shown_beside_each_other_above_their_distance_from_the_mean():
    rng = np.random.default_rng(0)
    pictures = list(rng.integers(0, 256, (3, 10, 10, 3), dtype=np.uint8))
    rewards, mean = np.zeros((5, 3)), np.zeros(5)
    rewards[1:] = [0.5, 0.25, 0.0]
    mean[1:] = 0.25
    strips = [draws_strip(pictures, ["draw 0", "draw 1", "draw 2"], rewards, mean, step) for step in range(5)]
    assert len({strip.shape for strip in strips}) == 1, "pictures of a video agree in size"
    for panel, picture, colour in zip(panels(strips[4], 10, 10), pictures, DRAW_COLOURS, strict=True):
        assert np.array_equal(panel[BORDER:-BORDER, BORDER:-BORDER], upscale(picture, 32))
        assert tuple(panel[0, 0]) == colour
    ends = []
    for colour in DRAW_COLOURS:
        columns, rows = chart_rows(strips[4], colour)
        assert len(columns) > len(chart_rows(strips[2], colour)[0]) > 0, "a curve grows with the steps"
        ends.append(rows[-1])
    assert ends[0] < ends[1] < ends[2], "above, on and below the mean"
    assert np.ptp(chart_rows(strips[4], DRAW_COLOURS[1])[1]) <= 1, "a draw that agrees with the mean stays level"
    assert ends[1] - ends[0] == pytest.approx(ends[2] - ends[1], abs=1.5)


def test_a_small_negative_number_is_a_plain_zero_in_the_caption():
    picture = [np.zeros((10, 10, 3), np.uint8)]
    negative, zero = (draws_strip(picture, ["draw 0"], np.array([[0.0], [r]]), np.array([0, r]), 1) for r in (-1e-9, 0))
    assert np.array_equal(negative, zero)
