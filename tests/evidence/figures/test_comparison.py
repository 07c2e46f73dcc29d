import pytest
from PIL import Image

from evade.cli.main import main
from evade.errors import FigureError
from evade.evidence.figures.comparison import save_comparison_figures
from evade.evidence.results import compare_runs, read_runs
from run_folders import make_finished


def plot(runs_dir, folder, baseline=None, form="png"):
    comparison = compare_runs(read_runs([runs_dir]), baseline)
    return [path.name for path in save_comparison_figures(comparison, folder, form)]


@pytest.fixture
def runs_dir(tmp_path):
    for variant in ("simple", "evade"):
        for seed in range(3):
            make_finished(tmp_path / "runs", variant, "minatar/breakout", seed, 2.0 + seed + len(variant))
            make_finished(tmp_path / "runs", variant, "atari/pong", seed, 3.0 * seed)
    make_finished(tmp_path / "runs", "evade", "Game-v0", 0, 1.0)
    return tmp_path / "runs"


def test_every_suite_with_a_scale_has_its_figures(runs_dir, tmp_path):
    names = plot(runs_dir, tmp_path / "figures", "simple", "svg")
    kinds = ("aggregates", "profile", "improvement-evade")
    assert names == [f"{suite}-{kind}.svg" for suite in ("atari", "minatar") for kind in kinds]
    assert "DQN-normalised score" in (tmp_path / "figures" / "minatar-aggregates.svg").read_text()
    assert "EVaDE-SimPLe minus SimPLe(30)" in (tmp_path / "figures" / "atari-improvement-evade.svg").read_text()


def test_simple_on_its_published_model_is_called_simple_and_not_simple_30(tmp_path):
    published = {"preset": "atari100k-simple", "world_model": {"kind": "stochastic-discrete", "reward": {}}}
    for seed in range(3):
        make_finished(tmp_path / "runs", "simple", "atari/pong", seed, 3.0 * seed, **published)
        make_finished(tmp_path / "runs", "evade", "atari/pong", seed, 2.0 * seed, preset="atari100k")
    plot(tmp_path / "runs", tmp_path / "figures", "simple", "svg")
    shown = {path.stem: path.read_text() for path in (tmp_path / "figures").iterdir()}
    assert "EVaDE-SimPLe minus SimPLe<" in shown["atari-improvement-evade"]
    assert ">SimPLe<" in shown["atari-aggregates"]
    assert ">SimPLe<" in shown["atari-profile"]
    assert not any("SimPLe(30)" in text for text in shown.values())


def test_single_runs_have_neither_profile_nor_improvement(tmp_path):
    for variant in ("simple", "evade"):
        make_finished(tmp_path / "runs", variant, "minatar/breakout", 0, 2.0)
    assert plot(tmp_path / "runs", tmp_path / "figures", "simple") == ["minatar-aggregates.png"]


def test_games_without_a_scale_cannot_be_plotted(tmp_path):
    make_finished(tmp_path / "runs", "evade", "Game-v0", 0, 2.0)
    with pytest.raises(FigureError, match="none of these games has reference scores"):
        plot(tmp_path / "runs", tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_the_command_names_the_files_and_prints_tables_only_when_asked(runs_dir, tmp_path, capsys):
    folder = tmp_path / "figures"
    assert main(["compare", str(runs_dir), "--figure", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        str(folder / f"{suite}-{kind}.png") for suite in ("atari", "minatar") for kind in ("aggregates", "profile")
    ]
    for name in ("atari-profile.png", "minatar-profile.png"):
        with Image.open(folder / name) as picture:
            assert picture.size == (670, 440)
            # The pixels of EVaDE's line.
            colours = {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 24)}
            assert colours.get((0xD5, 0x5E, 0x00), 0) > 100
    assert main(["compare", str(runs_dir), "--figure", str(folder), "--table", "games"]) == 0
    assert "Scores in each game" in capsys.readouterr().out
