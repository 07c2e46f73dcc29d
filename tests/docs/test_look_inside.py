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


def test_draws_disagree_about_a_ball_above_the_bricks_and_about_nothing_else(source):
    session = Session(source)
    here, above, inside = (session.rewards(16, edits) for edits in ([], [(BALL, 0, 3)], [(BALL, 5, 5)]))
    assert here.total < 0.005
    assert inside.total < 0.01
    assert above.total > 0.2
    assert above.mean.abs().max() < 0.02
    assert above.draws[1].min() > 0.2
    assert above.draws[2].max() < -0.2
    session.close()


def test_draws_disagree_before_the_dream_parts_from_the_game(source):
    session = Session(source)
    view, totals = session.begin(0), []
    while view.parted is None or view.step < view.parted + 2:
        totals.append(session.rewards(8).total)
        view = session.step("agent")
    totals.append(session.rewards(8).total)
    assert view.parted == 43
    assert max(totals[:38]) < 0.02
    assert min(totals[38:41]) > 0.08
    session.close()


def test_the_python_example_prints_what_it_says():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})  # noqa: S102 - our own documentation
    small, large = (float(line) for line in output.getvalue().split())
    assert small < 0.005 < 0.2 < large
