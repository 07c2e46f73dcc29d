import io
import re
import time

import pytest
from rich.console import Console

from evade.viewing.display import Display
from evade.vocabulary.metrics import METRICS
from evade.vocabulary.phases import PHASES

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Clock:
    """A console's clock that goes only when text."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def make_console(clock, *, is_terminal, width=100):
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=width, height=40, get_time=clock)


def written(display):
    return ESCAPE.sub("", display.console.file.getvalue())


def last_panel(display):
    """The panel as it was drawn last: from its upper left corner on."""
    text = written(display)
    return text[text.rindex("╭") :]


def terminal(clock, **options):
    return Display("breakout evade", 30, make_console(clock, is_terminal=True, **options))


def pipe(clock):
    return Display("breakout evade", 30, make_console(clock, is_terminal=False))


def test_the_panel_shows_phase_progress_time_and_numbers(clock):
    with terminal(clock) as display:
        display.overall(0.0)
        display.phase(3, "fit", 15000)
        display.advance(9300)
        display.show({"fit/frame_loss": 0.0312, "fit/reward_accuracy": 0.5, "collect/return": 2})
        display.show({"fit/reward_accuracy": 0.991})
        clock.now = 30.0
        display.overall(0.25, 90.0)
        display._live.refresh()
        panel = last_panel(display)
    for text in (
        "breakout evade",
        "iteration 3 of 30",
        "fit the world model",
        "62%  9,300 of 15,000",
        "25%  about 1 min 30 s left",
        "running · 30 s",
    ):
        assert text in panel, panel
    assert re.search(r"frame loss +0\.0312 nats", panel)
    assert re.search(r"reward accuracy +99\.10 %", panel)
    assert re.search(r"return, real play +2\.00 points", panel)


@pytest.mark.parametrize("name", PHASES)
def test_every_phase_is_described_in_plain_words(clock, name):
    with terminal(clock) as display:
        display.phase(1, name, None)
    assert PHASES[name].description in last_panel(display)


def test_the_panel_lives_on_narrow_terminals_and_before_anything_is_known(clock):
    with terminal(clock, width=46) as display:
        display._live.refresh()
        assert "getting ready" in last_panel(display)
        display.phase(1, "improve", 10)
        display.show({"dream/return": 1.0, "a_number_with_quite_a_long_name_indeed": 3.0})
    lines = last_panel(display).splitlines()
    assert {len(line) for line in lines if line.startswith("│")} == {46}


def test_the_last_panel_stays_and_says_how_the_run_ended(clock):
    with terminal(clock) as display:
        clock.now = 61.0
    assert "finished · 1 min 1 s" in last_panel(display)

    stopped = terminal(clock)
    with pytest.raises(KeyboardInterrupt), stopped:
        raise KeyboardInterrupt
    assert "stopped · 0 s" in last_panel(stopped)
    assert stopped.console.file.getvalue().count("\x1b[?25h") == 1, "the cursor is back"


def test_a_note_stays_above_the_panel(clock):
    with terminal(clock) as display:
        display.note("saved [3] in /tmp")
    text = written(display)
    assert "saved [3] in /tmp" in text
    assert text.rindex("saved [3]") < text.rindex("╭")


def test_a_storm_of_calls_is_cheap_and_draws_at_most_four_times_a_second():
    display = Display("breakout evade", 30, Console(file=io.StringIO(), force_terminal=True, width=100, height=40))
    with display:
        display.phase(1, "improve", 10**9)
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < 1.0:
            display.advance(calls)
            calls += 1
    assert calls > 20_000
    # One when it starts, four in the second, one when it ends, and one for a slow machine.
    assert 3 <= written(display).count("╭") <= 7


def test_without_a_terminal_every_phase_gives_one_plain_line(clock):
    with pipe(clock) as display:
        display.overall(0.0)
        display.phase(1, "collect", 3200)
        display.show({"collect/return": 1.5})
        display.advance(3200)
        clock.now = 10.0
        display.overall(0.1, 90.0)
        display.phase(1, "draw", None)
        display.show({"posterior/sigma": 0.102})
        clock.now = 12.0
        display.phase(1, "fit", 900)
        clock.now = 20.0
        display.overall(1.0)
    assert display.console.file.getvalue().splitlines() == [
        "breakout evade: 30 iterations",
        "[ 10%] iteration 1/30  collect done in 10 s, 3,200/3,200, about 1 min 30 s left | "
        "return, real play 1.50 points",
        "[ 10%] iteration 1/30  draw done in 2 s, about 1 min 28 s left | sigma, mean 0.102",
        "[100%] iteration 1/30  fit done in 8 s, 0/900",
        "breakout evade: finished after 20 s",
    ]


def test_without_a_terminal_a_long_phase_is_reported_every_thirty_seconds(clock):
    with pipe(clock) as display:
        display.phase(2, "fit", 1000)
        for second in range(100):
            clock.now = float(second)
            display.advance(second * 10)
            display.show({"fit/frame_loss": 1.0})
        lines = display.console.file.getvalue().splitlines()[1:]
    assert lines == [
        f"[  0%] iteration 2/30  fit for {text}, {done}/1,000 | frame loss 1.00 nats"
        for text, done in [("30 s", 300), ("1 min 0 s", 600), ("1 min 30 s", 900)]
    ]


def test_without_a_terminal_nothing_but_plain_ascii_is_written(clock):
    display = pipe(clock)
    display.phase(1, "score", 20)
    display.show(dict.fromkeys(("fit/frame_loss", "posterior/sigma", "dream/return"), 1.0))
    display.note("[bold]a note[/bold] " + "x" * 300)
    with pytest.raises(RuntimeError), display:
        raise RuntimeError
    text = display.console.file.getvalue()
    assert text.isascii()
    assert "\x1b" not in text
    assert f"[bold]a note[/bold] {'x' * 300}\n" in text, "lines are neither wrapped nor interpreted"
    assert "score stopped after 0 s" in text
    assert text.endswith("breakout evade: stopped after 0 s\n")


def test_the_remaining_time_runs_down_between_two_estimates_and_may_be_unknown(clock):
    with pipe(clock) as display:
        display.overall(0.5)
        assert display._remaining() == ""
        display.overall(0.6, 40.0)
        assert display._remaining() == "about 40 s left"
        clock.now = 5.0
        assert display._remaining() == "about 35 s left"
        clock.now = 99.0
        assert display._remaining() == "about 0 s left"


LATE_IN_A_RUN = {
    **{name: 0.123 for name, metric in METRICS.items() if "display" in metric.shown},
    "collect/steps": 98_304,
    "collect/episodes": 651,
    "evaluate/score": 51.62,
    "fit/frame_loss": 0.00042,
}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_cut_and_no_two_rows_read_alike(clock, width):
    with terminal(clock, width=width) as display:
        display.phase(30, "improve", 16)
        display.show(LATE_IN_A_RUN)
        display.overall(0.5, 9_300.0)
        display._live.refresh()
        panel = last_panel(display)
    for text in ("98,304 steps", "651 games", "51.62 points", "4.2e-04 nats", "12.30 %", "about 2 h 35 min left"):
        assert re.search(rf"\s{re.escape(text)}\s", panel), panel
    shown = [METRICS[name] for name in LATE_IN_A_RUN if "display" in METRICS[name].shown]
    for metric in shown:
        assert panel.count(metric.label) >= 1, f"{metric.label} is cut:\n{panel}"
    lines = panel.splitlines()
    assert {len(line) for line in lines if line.startswith("│")} == {min(width, 92)}
    # Two columns on a terminal of the usual 80 by 24 characters.
    assert width < 80 or len(lines) <= 24


@pytest.mark.parametrize(("text", "shown"), [(-0.1, "  0%"), (1.7, "100%")])
def test_progress_stays_between_nothing_and_all(clock, text, shown):
    with pipe(clock) as display:
        display.overall(text)
        display.phase(1, "fit", None)
    assert f"[{shown}]" in display.console.file.getvalue()
