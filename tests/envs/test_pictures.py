import numpy as np
import pytest

from evade.envs.pictures import BACKGROUND, COLOURS, render_frame


def test_a_colour_frame_is_its_own_image():
    frame = np.random.default_rng(0).integers(0, 256, (3, 5, 4), np.uint8)
    np.testing.assert_array_equal(render_frame(frame, levels=256), frame.transpose(1, 2, 0))


def test_a_grey_frame_becomes_three_equal_colours():
    frame = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    image = render_frame(frame, levels=256)
    assert image.shape == (2, 3, 3)
    assert (image == frame[0, :, :, None]).all()


def test_few_greys_are_rendered_from_black_to_white():
    frame = np.array([[[0, 5, 15]]], np.uint8)
    np.testing.assert_array_equal(render_frame(frame, levels=16)[0, :, 0], [0, 85, 255])


def test_a_grid_shows_its_first_channel_on_top_and_is_dark_where_it_is_empty():
    frame = np.zeros((3, 2, 2), np.uint8)
    frame[1, 0, 0] = frame[2, 0, 0] = frame[2, 1, 0] = frame[0, 1, 1] = 1
    image = render_frame(frame, levels=2)
    np.testing.assert_array_equal(image[0], [COLOURS[1], BACKGROUND])
    np.testing.assert_array_equal(image[1], [COLOURS[2], COLOURS[0]])


def test_every_cell_is_enlarged_to_a_square():
    frame = np.zeros((1, 1, 2), np.uint8)
    frame[0, 0, 1] = 1
    image = render_frame(frame, levels=2, scale=3)
    assert image.shape == (3, 6, 3)
    assert image.dtype == np.uint8
    assert (image[:, :3] == BACKGROUND).all()
    assert (image[:, 3:] == COLOURS[0]).all()


def test_more_channels_than_colours_start_again():
    frame = np.zeros((14, 1, 1), np.uint8)
    frame[13] = 1
    np.testing.assert_array_equal(render_frame(frame, levels=2)[0, 0], COLOURS[1])


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
    assert lab_distances([*COLOURS, BACKGROUND], blindness).min() > 16
