import io
import re

import pytest
from rich.console import Console

from evade.benchmark.progress import ProgressBar


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def show(clock, *, is_terminal):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=90, get_time=clock)
    with ProgressBar("benchmark", console) as bar:
        for done in range(1, 9):
            clock.now += 10.0
            bar.advance("measuring", done, 8)
        bar._bar.refresh()
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())


def test_a_terminal_shows_a_bar(clock):
    text = show(clock, is_terminal=True)
    assert "benchmark: measuring" in text
    assert "100%" in text


def test_elsewhere_there_is_a_line_every_half_minute(clock):
    lines = show(clock, is_terminal=False).splitlines()
    assert lines == ["benchmark: measuring, 3 of 8", "benchmark: measuring, 6 of 8"]
