"""`evade figures` as a stranger would run it."""

import pytest
from PIL import Image

from evade.cli.main import MISTAKE, main
from small_runs import make_small_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_small_run(tmp_path_factory.mktemp("run"), "weighting")


def test_figures_and_gifs_are_written_and_the_run_is_not_changed(folder, tmp_path, capsys):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    words = ["figures", str(folder), "-o", str(tmp_path / "out"), "--channel", "2", "--draw", "3", "--gif"]
    assert main(words) == 0
    printed = capsys.readouterr().out.split()
    assert sorted(printed) == sorted(str(path) for path in (tmp_path / "out").iterdir())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"maps-local-convolution-1-weighting.png", "draws.svg", "sigma.png", "dream.gif", "draws.gif"} <= names
    svg = (tmp_path / "out" / "maps-local-convolution-2-weighting.svg").read_text()
    assert "channel 2" in svg
    assert "draw 3" in svg
    with Image.open(tmp_path / "out" / "draws.gif") as film:
        assert film.n_frames >= 2
        assert film.info["loop"] == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--channel", "99"], "Invalid channel = 99: must be 0 to 7"),
        (["--draw", "-2"], "Invalid draw = -2"),
        (["--frame", "100000"], "Invalid frame = 100000"),
        (["--draws", "1"], "Invalid draws = 1: must be 2 to 1024"),
        (["--draws", "999999"], "Invalid draws = 999999: must be 2 to 1024"),
    ],
)
def test_a_users_mistake_is_one_line(folder, tmp_path, words, said, capsys):
    assert main(["figures", str(folder), "-o", str(tmp_path), *words]) == MISTAKE
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


def test_a_run_without_event_layers_is_one_line(tmp_path, capsys):
    simple = make_small_run(tmp_path / "run", "simple")
    assert main(["figures", str(simple), "-o", str(tmp_path / "out")]) == MISTAKE
    assert "has nothing to inspect: its variant 'simple' has no event layers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
