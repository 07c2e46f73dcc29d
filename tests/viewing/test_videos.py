import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from evade.envs.pictures import BACKGROUND, COLOURS, render_frame
from evade.errors import VideoError
from evade.viewing.panels import captioned, upscale
from evade.viewing.videos import write_gif, write_video
from reading_videos import read_video

WHITE = np.full((16, 16, 3), 255, np.uint8)


def use_encoder(folder, monkeypatch, script):
    """Let a shell script stand where ffmpeg is."""
    program = folder / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))


def test_a_video_gives_back_its_images(tmp_path):
    frames = np.zeros((len(COLOURS), 4, 10, 10), np.uint8)
    for index in range(len(frames)):
        frames[index, index % 4, index % 10, 3] = 1
    path = tmp_path / "media" / "game.mp4"
    write_video(path, (render_frame(frame, 2, 32) for frame in frames), frames_per_second=5)
    found, images = read_video(path)
    assert re.match(r"h264 .* yuv420p\(tv, bt709, progressive\).* 5 fps", found), found
    assert images.shape == (12, 320, 320, 3)
    centres = images[:, 16::32, 16::32].astype(int)
    for index, image in enumerate(centres):
        expected = np.broadcast_to(BACKGROUND, (10, 10, 3)).copy()
        expected[index % 10, 3] = COLOURS[index % 4]
        assert np.abs(image - expected).max() <= 6, index


def test_pictures_with_words_survive_encoding(tmp_path):
    image = captioned(upscale(np.random.default_rng(0).integers(0, 256, (105, 80, 3), dtype=np.uint8), 3), ["step 1"])
    write_video(tmp_path / "game.mp4", [image], 15)
    _, images = read_video(tmp_path / "game.mp4")
    grey, expected = images[0, : len(image)].mean(-1), image.mean(-1)
    assert np.abs(grey - expected)[-30:].mean() < 2, "letters stay sharp"


def test_odd_sizes_grow_by_one_pixel(tmp_path):
    write_video(tmp_path / "odd.mp4", [np.full((33, 35, 3), 128, np.uint8)] * 3, 10)
    _, images = read_video(tmp_path / "odd.mp4")
    assert images.shape == (3, 34, 36, 3)
    assert np.abs(images.astype(int) - 128).max() <= 3


def test_the_index_comes_first_so_that_a_browser_can_start_at_once(tmp_path):
    write_video(tmp_path / "one.mp4", [WHITE], 10)
    content = (tmp_path / "one.mp4").read_bytes()
    assert 0 < content.index(b"moov") < content.index(b"mdat")


def test_equal_images_give_equal_bytes_on_one_core_and_on_all(tmp_path):
    code = (
        "import os, sys, numpy as np; from pathlib import Path; from evade.viewing.videos import write_video\n"
        "if sys.argv[2] == 'one' and hasattr(os, 'sched_setaffinity'):\n"
        "    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "images = np.random.default_rng(0).integers(0, 256, (12, 320, 320, 3), dtype=np.uint8)\n"
        "write_video(Path(sys.argv[1]), images, 10)\n"
    )
    paths = {cores: tmp_path / f"{cores}.mp4" for cores in ("one", "all")}
    for cores, path in paths.items():
        subprocess.run([sys.executable, "-c", code, path, cores], check=True)
    assert paths["one"].read_bytes() == paths["all"].read_bytes()


@pytest.mark.parametrize(
    ("images", "found"),
    [
        ([], "no images"),
        ([WHITE, WHITE[:8]], r"image 1 is uint8 \[8, 16, 3\].*\[16, 16, 3\]"),
        ([WHITE.astype(float)], r"image 0 is float64"),
        ([WHITE[..., 0]], r"image 0 is uint8 \[16, 16\]"),
    ],
)
def test_images_that_make_no_video_are_refused_and_leave_nothing(tmp_path, images, found):
    with pytest.raises(VideoError, match=found):
        write_video(tmp_path / "game.mp4", images, 10)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "rate"), [("game.gif", 10), ("game.mp4", 0), ("game.mp4", float("nan"))])
def test_impossible_names_and_rates_are_refused(tmp_path, name, rate):
    with pytest.raises(VideoError, match=rf"{name} at {rate} frames per second"):
        write_video(tmp_path / name, [WHITE], rate)


def test_a_failing_encoder_is_reported_with_its_own_words_and_the_old_video_stays(tmp_path, monkeypatch):
    use_encoder(tmp_path, monkeypatch, "echo 'first word' >&2; echo 'No space left on device' >&2; exit 3")
    media = tmp_path / "media"
    media.mkdir()
    (media / "game.mp4").write_text("old")
    endless = (upscale(WHITE, 20) for _ in range(1000))
    with pytest.raises(VideoError, match=r"code 3: first word / No space left on device"):
        write_video(media / "game.mp4", endless, 10)
    assert (media / "game.mp4").read_text() == "old"
    assert list(media.iterdir()) == [media / "game.mp4"]


def test_a_disk_that_takes_no_more_is_an_error_and_no_video(tmp_path):
    code = (
        "import resource, sys, numpy as np; from pathlib import Path; from evade.viewing.videos import write_video\n"
        "from evade.errors import VideoError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "images = np.random.default_rng(0).integers(0, 256, (30, 128, 128, 3), dtype=np.uint8)\n"
        "try: write_video(Path(sys.argv[1]) / 'game.mp4', images, 10)\n"
        "except VideoError as error: print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("ffmpeg ended with code "), result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_encoder_and_a_blocked_folder_are_told_plainly(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(VideoError, match="game.mp4 cannot be written"):
        write_video(tmp_path / "file" / "game.mp4", [WHITE], 10)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "nowhere"))
    with pytest.raises(VideoError, match="No such file"):
        write_video(tmp_path / "game.mp4", [WHITE], 10)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_while_images_are_made_ends_the_encoder_and_leaves_nothing(tmp_path, monkeypatch, error):
    number = tmp_path / "pid"
    use_encoder(tmp_path, monkeypatch, f"echo $$ > {number}; exec sleep 60")

    def images():
        yield WHITE
        while not number.exists() or not number.read_text():
            time.sleep(0.01)
        raise error

    start = time.monotonic()
    with pytest.raises(error):
        write_video(tmp_path / "media" / "game.mp4", images(), 10)
    assert time.monotonic() - start < 30
    assert list((tmp_path / "media").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_an_encoder_that_ended_unseen_hides_neither_its_reason_nor_an_error_of_the_images(tmp_path, monkeypatch):
    use_encoder(tmp_path, monkeypatch, "echo 'too small' >&2; exit 3")

    def images(error):
        yield WHITE
        time.sleep(0.5)  # the encoder is gone, and WHITE still waits in the pipe's buffer
        if error is not None:
            raise error
        yield from [WHITE] * 100

    with pytest.raises(VideoError, match="code 3: too small"):
        write_video(tmp_path / "game.mp4", images(None), 10)
    with pytest.raises(RuntimeError, match="of the game"):
        write_video(tmp_path / "game.mp4", images(RuntimeError("of the game")), 10)


def test_a_pipe_that_breaks_while_images_are_made_is_not_taken_for_the_end_of_the_video(tmp_path):
    def images():
        yield WHITE
        raise BrokenPipeError("of the game")

    with pytest.raises(VideoError, match="of the game"):
        write_video(tmp_path / "game.mp4", images(), 10)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_the_run_survives_does_not_cut_its_video_short(tmp_path):
    code = (
        "import os, signal, sys, numpy as np; from pathlib import Path; from evade.viewing.videos import write_video\n"
        "signal.signal(signal.SIGINT, lambda *_: None)\n"
        "def images():\n"
        "    for index in range(40):\n"
        "        if index == 20: os.killpg(0, signal.SIGINT)\n"
        "        yield np.full((64, 64, 3), index, np.uint8)\n"
        "write_video(Path(sys.argv[1]), images(), 10)\n"
    )
    path = tmp_path / "game.mp4"
    subprocess.run([sys.executable, "-c", code, path], check=True, start_new_session=True)
    assert len(read_video(path)[1]) == 40


def test_a_gif_shows_every_image_and_repeats(tmp_path):
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (5, 1, 1, 3), dtype=np.uint8)
    images = [np.broadcast_to(colour, (20, 31, 3)) for colour in colours]
    write_gif(tmp_path / "film.gif", iter(images), 10)
    with Image.open(tmp_path / "film.gif") as film:
        assert (film.n_frames, film.size) == (5, (32, 20))
        assert (film.info["loop"], film.info["duration"]) == (0, 100)
        for index, image in enumerate(images):
            film.seek(index)
            assert np.array_equal(np.array(film.convert("RGB"))[:, :31], image)
    assert [path.name for path in tmp_path.iterdir()] == ["film.gif"]


def test_a_gif_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(VideoError, match=r"choose a name in \.gif"):
        write_gif(tmp_path / "film.mp4", [WHITE], 10)
    with pytest.raises(VideoError, match="would have no images"):
        write_gif(tmp_path / "film.gif", [], 10)
    with pytest.raises(VideoError, match="image 1 is uint8"):
        write_gif(tmp_path / "film.gif", [WHITE, WHITE[:4]], 10)
    (tmp_path / "file").touch()
    with pytest.raises(VideoError, match="cannot be written"):
        write_gif(tmp_path / "file" / "film.gif", [WHITE], 10)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
