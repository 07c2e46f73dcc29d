import numpy as np

from evade.envs.pictures import COLOURS, draw_frame


def test_a_colour_frame_is_its_own_picture():
    frame = np.random.default_rng(0).integers(0, 256, (3, 5, 4), np.uint8)
    np.testing.assert_array_equal(draw_frame(frame, levels=256), frame.transpose(1, 2, 0))


def test_a_grey_frame_becomes_three_equal_colours():
    frame = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    picture = draw_frame(frame, levels=256)
    assert picture.shape == (2, 3, 3)
    assert (picture == frame[0, :, :, None]).all()


def test_a_grid_shows_its_first_channel_on_top_and_black_where_it_is_empty():
    frame = np.zeros((3, 2, 2), np.uint8)
    frame[1, 0, 0] = frame[2, 0, 0] = frame[2, 1, 0] = frame[0, 1, 1] = 1
    picture = draw_frame(frame, levels=2)
    np.testing.assert_array_equal(picture[0], [COLOURS[1], (0, 0, 0)])
    np.testing.assert_array_equal(picture[1], [COLOURS[2], COLOURS[0]])


def test_every_cell_is_enlarged_to_a_square():
    frame = np.zeros((1, 1, 2), np.uint8)
    frame[0, 0, 1] = 1
    picture = draw_frame(frame, levels=2, scale=3)
    assert picture.shape == (3, 6, 3)
    assert picture.dtype == np.uint8
    assert (picture[:, :3] == 0).all()
    assert (picture[:, 3:] == COLOURS[0]).all()


def test_more_channels_than_colours_start_again():
    frame = np.zeros((12, 1, 1), np.uint8)
    frame[11] = 1
    np.testing.assert_array_equal(draw_frame(frame, levels=2)[0, 0], COLOURS[1])


def relative_luminance(colour):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour / 255]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_all_colours_are_different_and_stand_out_from_black():
    assert len({tuple(colour) for colour in COLOURS.tolist()}) == len(COLOURS)
    assert min((relative_luminance(colour) + 0.05) / 0.05 for colour in COLOURS) > 2
