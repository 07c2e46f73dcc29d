"""A reader that goes away does not end a run."""

import os

from evade.viewing.display import Display
from evade.viewing.streams import ForgivingStream


def test_what_is_shown_after_the_reader_has_gone_is_dropped(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with Display("a run", 2) as display:
            os.close(reading)
            for _ in range(3):
                display.note("nobody reads this")
        stream.write("nor this")  # printed past the display: it goes nowhere, also when the stream is closed


def test_a_full_disk_behind_the_output_is_no_error_either():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        stream = ForgivingStream(full)
        assert stream.write("x" * 100_000) == 100_000
        stream.flush()
        assert stream.write("more") == 4
