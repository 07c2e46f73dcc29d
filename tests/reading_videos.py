"""Reading videos back."""

import re
import subprocess

import imageio_ffmpeg
import numpy as np


def read_video(path):
    """What ffmpeg says of a video, and all its images. (imageio-ffmpeg's own reader leaves its pipes open.)"""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    result = subprocess.run(command, capture_output=True, check=True)
    found = re.search(r"Video: (.*)", result.stderr.decode())[1]
    width, height = map(int, re.search(r" (\d\d+)x(\d+)", found).groups())
    return found, np.frombuffer(result.stdout, np.uint8).reshape(-1, height, width, 3)
