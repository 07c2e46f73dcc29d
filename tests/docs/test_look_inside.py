"""The finding that docs/do/look_inside.md walks through, on the run that comes with the package."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from evade.viewing.look.session import Session
from evade.viewing.look.source import DEMO, RunSource

PAGE = Path(__file__).parents[2] / "docs/do/look_inside.md"
BALL = 1


@pytest.fixture(scope="module")
def source():
    return RunSource(DEMO)


def test_the_demo_is_small_and_has_no_more_than_the_page_needs():
    files = {path.relative_to(DEMO).parts[0] for path in DEMO.rglob("*") if path.is_file()}
    assert files == {
        "config.json", "status.json", "metrics.jsonl", "scores.jsonl", "timing.jsonl", "replay", "checkpoints"
    }  # fmt: skip
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) <= 1_000_000


def test_the_ball_has_never_been_above_the_bricks(source):
    counts = source.run.world_model.event_prior.counts
    assert source.run.config.schedule.total_real_steps == 16_000
    for chunk in range(source.film.num_chunks):
        assert source.film.chunk(chunk).frame[:, BALL, :2].sum() == 0
    assert counts.sum() > 0


def test_draws_pay_for_a_ball_above_the_bricks_and_disagree_how_much(source):
    session = Session(source)
    here, above, inside = (session.rewards(16, edits) for edits in ([], [(BALL, 0, 3)], [(BALL, 5, 5)]))
    assert here.total < 0.001
    assert inside.total < 0.01
    assert above.total > 0.1
    assert above.mean.abs().max() < 0.02
    assert above.draws[:, :2].min() > 0.2
    assert above.draws[0, 2] > 0.25
    assert above.draws[14, 2] < -0.25
    session.close()


def test_draws_disagree_before_the_dream_parts_from_the_game(source):
    session = Session(source)
    view, totals = session.begin(0), []
    while view.parted is None:
        totals.append(session.rewards(8).total)
        view = session.step("agent")
    assert view.parted == 64
    assert max(totals[:42]) < 0.01
    assert min(totals[42], totals[52]) > 0.03
    session.close()


def test_the_python_example_prints_what_it_says():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})  # noqa: S102 - our own documentation
    small, large = (float(line) for line in output.getvalue().split())
    assert small < 0.001 < 0.1 < large
