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
NEUTRAL_INK: Colour = (160, 164, 172)
"""Of numbers on an axis."""
CONDITIONED: Colour = (0, 178, 120)
"""Border of a dream while it is shown real frames: green."""
DREAMING: Colour = (224, 60, 49)
"""Border of a dream that lives on its own frames: red."""
ADDED: Colour = (230, 159, 0)
"""Of a difference where the dream is brighter than the game."""
MISSED: Colour = (86, 180, 233)
"""Of a difference where the dream is darker than the game."""

DRAW_COLOURS: tuple[Colour, ...] = ((230, 159, 0), (86, 180, 233), (204, 121, 167))
"""Border and curve of the first, second and third draw."""

FONT_SIZE = 16
LINE_HEIGHT = 22
MARGIN = 8
BORDER = 4
CHART_HEIGHT = 120
"""Pixels: the curves below dreams of several draws."""
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


def draws_strip(
    pictures: list[Picture],
    names: list[str],
    rewards: NDArray[np.float64],
    mean: NDArray[np.float64],
    step: int,
) -> Picture:
    """Dreams of up to three draws side by side with their rewards; below, how far their returns are from the mean's.

    Args:
        pictures: `[H, W, 3]` each, at this step, not yet enlarged.
        names: of the draws.
        rewards: `[T + 1, draws]`, of all steps of the film, 0 at its start; so that all its curves have one scale.
        mean: `[T + 1]`, the same of the mean model.
        step: 0 to T.
    """
    returns = rewards.cumsum(0)
    panels = [
        captioned(
            _panel(picture, [(name, colour)], colour),
            [f"reward {_signed(reward)},  return {_signed(total)}" if step else "all start here"],
        )
        for picture, name, colour, reward, total in zip(
            pictures, names, DRAW_COLOURS, rewards[step], returns[step], strict=False
        )
    ]
    gap = _canvas(len(panels[0]), MARGIN)
    strip = np.concatenate([gap, *(part for panel in panels for part in (panel, gap))], axis=1)
    heading = f"step {step}:  return minus the mean model's ({_signed(mean[: step + 1].sum())})"
    return np.concatenate([strip, _chart(returns - mean.cumsum()[:, None], step, strip.shape[1], heading)])


def _signed(value: float) -> str:
    # Adding zero makes the zero of a small negative number a plain one.
    return f"{round(value, 2) + 0.0:+.2f}"


def _chart(curves: NDArray[np.float64], step: int, width: int, heading: str) -> Picture:
    """Curves `[T + 1, draws]` up to a step, one colour for each draw, with 0 and the largest value on the axis."""
    canvas = _write(_canvas(LINE_HEIGHT + CHART_HEIGHT + MARGIN, width), heading, (MARGIN, 0))
    largest = max(float(np.abs(curves).max()), 1e-6)
    left, middle = 5 * MARGIN + FONT_SIZE, LINE_HEIGHT + CHART_HEIGHT // 2
    scale = (CHART_HEIGHT - FONT_SIZE) / 2 / largest
    spacing = (width - left - 2 * MARGIN) / max(len(curves) - 1, 1)
    for value, label in ((largest, f"{largest:+.2g}"), (0.0, "0"), (-largest, f"{-largest:+.2g}")):
        canvas = _write(canvas, label, (MARGIN, round(middle - value * scale) - FONT_SIZE // 2), NEUTRAL_INK)
    page = Image.fromarray(canvas)
    pen = ImageDraw.Draw(page)
    pen.line([(left, middle), (width - MARGIN, middle)], fill=NEUTRAL)
    for curve, colour in zip(curves[: step + 1].T, DRAW_COLOURS, strict=False):
        points = [(left + index * spacing, middle - value * scale) for index, value in enumerate(curve)]
        x, y = points[-1]
        pen.line(points, fill=colour, width=3)
        pen.ellipse([x - 4, y - 4, x + 4, y + 4], fill=colour)
    return np.array(page)


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
