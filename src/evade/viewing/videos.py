"""Images to mp4 (H.264), by the ffmpeg that comes with imageio-ffmpeg, or to GIF. `panels` makes the images."""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO

import imageio_ffmpeg
import numpy as np
from PIL import Image

from evade.errors import VideoError
from evade.runs.files import written_whole
from evade.viewing.panels import Picture

QUALITY = 16
"""x264's constant rate factor: 0 loses nothing, 23 is its default; 16 keeps letters and single cells crisp."""


def write_video(path: Path, images: Iterable[Picture], frames_per_second: float) -> None:
    """Write images as an mp4 that browsers play while it loads.

    The same images give the same bytes, on however many cores. An odd height or width grows by one
    pixel, because the format stores colours for 2 x 2 pixels at once.

    Args:
        path: ends in .mp4; the folder is made, and a file of that name is replaced once the new one is whole.
        images: uint8 `[H, W, 3]`, all of one size. Taken one at a time, so a generator keeps memory small.
        frames_per_second: images shown per second.

    Raises:
        VideoError: there is no image, one does not fit, or ffmpeg failed.
    """
    first, remaining = _begin(path, ".mp4", images, frames_per_second)
    with _video_errors(path), written_whole(path) as draft:
        _encode(_command(draft, first, frames_per_second), chain([first], remaining))


def write_gif(path: Path, images: Iterable[Picture], frames_per_second: float) -> None:
    """Write images as a GIF that repeats, for pages that cannot show videos. It is several times larger than an mp4.

    Args:
        path: ends in .gif; the folder is made, and a file of that name is replaced once the new one is whole.
        images: uint8 `[H, W, 3]`, all of one size; each is reduced to 256 colours of its own.
        frames_per_second: images shown per second, up to 50.

    Raises:
        VideoError: there is no image, one does not fit, or the file cannot be written.
    """
    first, remaining = _begin(path, ".gif", images, frames_per_second)
    pages = (Image.fromarray(image).quantize() for image in remaining)
    milliseconds = max(round(1000 / frames_per_second), 20)
    with _video_errors(path), written_whole(path) as draft:
        Image.fromarray(first).quantize().save(
            draft, "GIF", save_all=True, append_images=pages, duration=milliseconds, loop=0
        )


def _begin(
    path: Path, ending: str, images: Iterable[Picture], frames_per_second: float
) -> tuple[Picture, Iterator[Picture]]:
    """The first image and the others, all checked."""
    if path.suffix != ending or not frames_per_second > 0:
        raise VideoError(
            f"{path.name} at {frames_per_second} frames per second cannot be written: "
            f"choose a name in {ending} and a number above 0."
        )
    remaining = _checked(images)
    first = next(remaining, None)
    if first is None:
        raise VideoError(f"{path.name} would have no images: give at least one.")
    return first, remaining


@contextmanager
def _video_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VideoError(f"{path} cannot be written ({error.strerror or error}): fix this and retry.") from error


def _checked(images: Iterable[Picture]) -> Iterator[Picture]:
    """Images of even size, all like the first."""
    expected = None
    for index, image in enumerate(images):
        expected = expected or image.shape
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or image.shape != expected:
            raise VideoError(
                f"image {index} is {image.dtype} {list(image.shape)}: all must be uint8 [H, W, 3] "
                f"and as large as the first, {list(expected)}."
            )
        height, width, _ = image.shape
        yield np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _command(draft: Path, first: Picture, frames_per_second: float) -> list[str]:
    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise VideoError(f"no ffmpeg was found: pip install imageio-ffmpeg brings one ({error})") from error
    height, width, _ = first.shape
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {frames_per_second} -i pipe:0"
    # Colours are tagged, so that players need not guess; one thread, because the bytes depend on their number.
    colours = "-vf scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"
    tags = "-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv"
    encoder = f"-c:v libx264 -preset medium -crf {QUALITY} -threads 1 -movflags +faststart"
    arguments = f"-y -loglevel error {source} {colours} {encoder} {tags} -f mp4"
    return [program, *arguments.split(), str(draft)]


def _encode(command: list[str], images: Iterable[Picture]) -> None:
    # Messages go to a file: a pipe nobody empties would stall ffmpeg. A session of its own keeps a Ctrl-C meant for
    # the run from cutting the video short.
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(  # noqa: S603 (our own arguments, no shell)
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=messages, start_new_session=True
        ) as process:
            assert process.stdin is not None
            try:
                _feed(process.stdin, images)
            except BaseException:
                process.kill()
                raise
            finally:
                # Closing sends what is still buffered, which an encoder that has ended does not take.
                with suppress(BrokenPipeError):
                    process.stdin.close()
        if process.returncode != 0:
            messages.seek(0)
            reasons = messages.read().decode(errors="replace").strip().splitlines()[-3:]
            raise VideoError(
                f"ffmpeg ended with code {process.returncode}: {' / '.join(reasons) or 'it gave no reason'}. "
                "Fix this (is the disk full?) and retry."
            )


def _feed(pipe: IO[bytes], images: Iterable[Picture]) -> None:
    for image in images:
        try:
            pipe.write(image.tobytes())
        except BrokenPipeError:
            return  # ffmpeg has ended early; its exit code and messages say why
