"""What is shown of a game and a dream: enlarged, with captions, game beside dream beside difference.

An image is uint8 RGB `[H, W, 3]`; `evade.envs.pictures` turns frames into images.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from evade.errors import ShapeError

Picture = NDArray[np.uint8]
"""An image."""
Colour = tuple[int, int, int]

PANEL_HEIGHT = 320
"""Pixels: about how high one frame is shown, from MinAtar's 10 rows to Atari's 105."""
CANVAS: Colour = (32, 35, 43)
"""Around panels and under words."""
INK: Colour = (232, 232, 232)
NEUTRAL: Colour = (88, 92, 102)
CONDITIONED: Colour = (0, 178, 120)
"""Border of a dream while it is shown real frames: green."""
DREAMING: Colour = (224, 60, 49)
"""Border of a dream that lives on its own frames: red."""
ADDED: Colour = (230, 159, 0)
"""Of a difference where the dream is brighter than the game."""
MISSED: Colour = (86, 180, 233)
"""Of a difference where the dream is darker than the game."""

FONT_SIZE = 16
LINE_HEIGHT = 22
MARGIN = 8
BORDER = 4
CAPTION_WIDTH = 320
"""Pixels: a captioned image is made at least so wide, so that a short line always fits."""


def upscale(image: Picture, factor: int) -> Picture:
    """Show each cell as `factor x factor` pixels."""
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def panel_factor(height: int) -> int:
    """The factor that shows `height` rows about 320 pixels high."""
    return max(1, round(PANEL_HEIGHT / height))


def captioned(image: Picture, lines: list[str]) -> Picture:
    """Add a strip with one line of text each below an image; a line too long for it ends in an ellipsis.

    The size depends on the image and the number of lines alone, so that the pictures of a video agree.
    """
    height, width, _ = image.shape
    canvas_width = max(width, CAPTION_WIDTH)
    strip_height = MARGIN + LINE_HEIGHT * len(lines) + MARGIN if lines else 0
    canvas = _canvas(height + strip_height, canvas_width)
    left = (canvas_width - width) // 2
    canvas[:height, left : left + width] = image
    for index, line in enumerate(lines):
        canvas = _write(canvas, line, (MARGIN, height + MARGIN + LINE_HEIGHT * index))
    return canvas


def reward_caption(predicted: float, true: float) -> str:
    """Both rewards in words, and whether they differ once the prediction, which may be a mean, is rounded."""
    verdict = "" if round(predicted) == true else "  (wrong)"
    return f"reward:  predicted {_short(predicted)},  true {_short(true)}{verdict}"


def _short(reward: float) -> str:
    # Adding zero makes the zero of a small negative number a plain one.
    return f"{round(reward, 2) + 0.0:g}"


def compare_strip(game: Picture, dream: Picture, lines: list[str], is_dreaming: bool) -> Picture:
    """Game, dream and their difference side by side, with titles above and a caption below.

    The dream's border is green while it is conditioned on real frames and red while it is dreaming. The difference
    is orange where the dream is brighter, as if it added a thing, and blue where it is darker; stronger when further
    off, black where both agree.

    Args:
        game: `[H, W, 3]`, not yet enlarged.
        dream: `[H, W, 3]`, of the same moment.
        lines: the caption, e.g. `[f"step {step}", reward_caption(predicted, true)]`.
        is_dreaming: whether the dream lives on its own frames by now.
    """
    if game.shape != dream.shape:
        raise ShapeError(f"game {list(game.shape)} and dream {list(dream.shape)} cannot be compared: sizes differ.")
    border, state = (DREAMING, "on its own") if is_dreaming else (CONDITIONED, "shown the game")
    panels = [
        _panel(game, [("game", INK)], NEUTRAL),
        _panel(dream, [("dream", INK), (state, border)], border),
        _panel(difference(game, dream), [("difference", INK), ("added", ADDED), ("missing", MISSED)], NEUTRAL),
    ]
    gap = _canvas(len(panels[0]), MARGIN)
    strip = np.concatenate([gap, panels[0], gap, panels[1], gap, panels[2], gap], axis=1)
    return captioned(strip, lines)


def difference(game: Picture, dream: Picture) -> Picture:
    """Brighter the further off; the square root makes small errors of real pixels visible."""
    change = dream.astype(float) - game.astype(float)
    strength = np.sqrt(np.abs(change).max(-1, keepdims=True) / 255)
    is_brighter = change.sum(-1, keepdims=True) >= 0
    return _to_bytes(np.where(is_brighter, ADDED, MISSED) * strength)


def _panel(image: Picture, title: list[tuple[str, Colour]], border: Colour) -> Picture:
    """The image enlarged and framed, under the words of its title, each in its own colour."""
    image = upscale(image, panel_factor(len(image)))
    height, width, _ = image.shape
    title_height = LINE_HEIGHT + MARGIN
    canvas = _canvas(title_height + height + 2 * BORDER, width + 2 * BORDER)
    canvas[title_height:] = border
    canvas[title_height + BORDER : -BORDER, BORDER:-BORDER] = image
    left = 0
    for word, ink in title:
        canvas = _write(canvas, word, (left, MARGIN // 2), ink)
        left += round(_font().getlength(word)) + 2 * MARGIN
    return canvas


def _canvas(height: int, width: int) -> Picture:
    return np.full((height, width, 3), CANVAS, np.uint8)


def _to_bytes(image: NDArray[np.floating]) -> Picture:
    whole: Picture = np.rint(image).astype(np.uint8)
    return whole


def _write(image: Picture, text: str, corner: tuple[int, int], ink: Colour = INK) -> Picture:
    """Write one line of text with its upper left corner at (x, y), cut to the image's width."""
    font = _font()
    room = image.shape[1] - corner[0]
    if font.getlength(text) > room:
        while text and font.getlength(text + "…") > room:
            text = text[:-1]
        text += "…"
    page = Image.fromarray(image)
    ImageDraw.Draw(page).text(corner, text, fill=ink, font=font)
    return np.array(page)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    # Pillow carries this font with it, so that words look the same on every machine.
    return ImageFont.load_default(FONT_SIZE)
