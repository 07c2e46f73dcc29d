"""docs/do/use_the_dream_as_an_environment.md: its programs run, and its table names the environments there are."""

import re
from pathlib import Path

import gymnasium

from small_runs import make_small_run

PAGE = (Path(__file__).parents[2] / "docs" / "do" / "use_the_dream_as_an_environment.md").read_text()


def test_the_programs_on_the_page_run_as_they_stand(tmp_path, capsys):
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder = make_small_run(tmp_path / "run")
    assert len(programs) == 4
    for program in programs[:3]:  # the last one needs Stable-Baselines3
        assert "runs/quick/minatar-breakout/evade/seed-0" in program
        exec(program.replace("runs/quick/minatar-breakout/evade/seed-0", str(folder)), {})  # noqa: S102
    assert "local_heads.events.local1.translation (8, 10, 10) (8, 10, 10)" in capsys.readouterr().out
    compile(programs[3], "the page", "exec")


def test_the_dream_takes_three_lines():
    assert (
        len(re.search(r"## In three lines\n+```python\nimport evade\n+(.*?)```", PAGE, re.DOTALL)[1].splitlines()) == 3
    )


def test_every_id_in_the_table_is_registered():
    ids = re.findall(r"^\| `(evade/[\w-]+)`", PAGE, re.MULTILINE)
    assert len(ids) == 6
    assert set(ids) <= set(gymnasium.registry)
