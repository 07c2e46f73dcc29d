"""Rendering: a frame, real or dreamt, as an RGB image."""

import numpy as np
from numpy.typing import NDArray

BACKGROUND = (18, 20, 26)
"""Colour of an empty cell."""
COLOURS = (
    (86, 180, 233),  # sky blue
    (240, 228, 66),  # yellow
    (204, 121, 167),  # reddish purple
    (230, 159, 0),  # orange
    (0, 158, 115),  # bluish green
    (213, 94, 0),  # vermilion
    (0, 114, 178),  # blue
    (255, 255, 255),  # white
    (138, 60, 245),  # violet
    (107, 58, 16),  # brown
    (0, 255, 135),  # spring green
    (106, 90, 106),  # slate
)
"""One colour per channel: the palette of Okabe and Ito (2008) for dark backgrounds, and five more found by search that
keep its contrast under all three colour blindnesses. Channel 12 starts again with the first colour."""


def render_frame(frame: NDArray[np.uint8], levels: int, scale: int = 1) -> NDArray[np.uint8]:
    """Render a frame `[C, H, W]` as an RGB image `[H * scale, W * scale, 3]`.

    A frame of 3 channels with 256 levels is RGB already. A single channel with more than 2 levels is greyscale. Any
    other frame is a grid of objects: a cell gets the colour of its first nonzero channel, so that the player
    (channel 0 in MinAtar) is always on top.
    """
    if (len(frame) == 3 and levels == 256) or (len(frame) == 1 and levels > 2):
        bright = (frame.astype(np.uint16) * 255 // (levels - 1)).astype(np.uint8)
        picture = np.broadcast_to(bright, (3, *frame.shape[1:])).transpose(1, 2, 0)
    else:
        # Row 0 is the empty cell: argmax finds it wherever all channels are 0.
        present = np.concatenate([~frame.any(axis=0, keepdims=True), frame != 0])
        colours = [BACKGROUND, *(COLOURS[channel % len(COLOURS)] for channel in range(len(frame)))]
        picture = np.array(colours, np.uint8)[present.argmax(axis=0)]
    return np.ascontiguousarray(picture.repeat(scale, axis=0).repeat(scale, axis=1))
