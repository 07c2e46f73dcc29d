import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import ShapeError
from evade.pictures import (
    ADDED,
    BACKGROUND,
    BORDER,
    CANVAS,
    CONDITIONED,
    DREAMING,
    LINE_HEIGHT,
    MARGIN,
    MISSED,
    NEUTRAL,
    OBJECT_COLOURS,
    captioned,
    colour_frame,
    compare_strip,
    panel_factor,
    reward_caption,
    upscale,
)

TITLE = LINE_HEIGHT + MARGIN

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
COLOUR_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab_distances(colours, blindness):
    """CIE 1976 distances between sRGB colours as the eye in question sees them."""
    share = np.array(colours) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ np.transpose(COLOUR_BLINDNESS[blindness]), 0, 1) @ TO_XYZ.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=-1)
    distances = np.linalg.norm(lab[:, None] - lab[None], axis=-1)
    return distances[np.triu_indices(len(colours), 1)]


@pytest.mark.parametrize("blindness", COLOUR_BLINDNESS)
def test_object_colours_stay_apart_under_every_colour_blindness(blindness):
    # 16 is what the palette of Okabe and Ito itself keeps; 2.3 is the smallest difference an eye can tell.
    assert lab_distances([*OBJECT_COLOURS, BACKGROUND], blindness).min() > 16


def test_every_object_type_of_the_richest_game_has_its_own_colour():
    seaquest_channels = 10
    frame = np.eye(seaquest_channels, dtype=np.uint8)[:, None, :]
    shown = colour_frame(frame, levels=2)
    assert len(np.unique(shown[0], axis=0)) == seaquest_channels
    assert [tuple(cell) for cell in shown[0]] == list(OBJECT_COLOURS[:seaquest_channels])


def test_later_object_types_cover_earlier_ones_and_empty_cells_are_dark():
    frame = np.zeros((4, 1, 3), np.uint8)
    frame[1, 0, :2] = 1
    frame[3, 0, 1:2] = 1
    shown = colour_frame(frame, levels=2)
    assert [tuple(cell) for cell in shown[0]] == [OBJECT_COLOURS[1], OBJECT_COLOURS[3], BACKGROUND]


def test_a_half_present_object_is_half_way_between_background_and_colour():
    frame = np.array([[[2]], [[0]]], np.uint8)
    expected = (np.array(BACKGROUND) + OBJECT_COLOURS[0]) / 2
    assert np.abs(colour_frame(frame, levels=5)[0, 0] - expected).max() <= 0.5


def test_rgb_frames_keep_their_pixels():
    frame = np.random.default_rng(0).integers(0, 256, (3, 5, 4), dtype=np.uint8)
    assert np.array_equal(colour_frame(frame, levels=256), frame.transpose(1, 2, 0))


def test_three_binary_channels_are_objects_and_not_rgb():
    shown = colour_frame(np.ones((3, 1, 1), np.uint8), levels=2)
    assert tuple(shown[0, 0]) == OBJECT_COLOURS[2]


@pytest.mark.parametrize(("levels", "expected"), [(2, [0, 255]), (256, [0, 1])])
def test_one_channel_is_grey_from_black_to_white(levels, expected):
    shown = colour_frame(np.array([[[0, 1]]], np.uint8), levels)
    assert np.array_equal(shown, np.repeat(np.array(expected)[None, :, None], 3, axis=-1))


@pytest.mark.parametrize("frame", [np.zeros((10, 10), np.uint8), np.zeros((4, 10, 10), np.float32)])
def test_what_is_not_a_frame_is_refused_with_its_type_and_shape(frame):
    with pytest.raises(ShapeError, match=rf"uint8 \[C, H, W\].*{frame.dtype} \[{frame.shape[0]}"):
        colour_frame(frame, levels=2)


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
