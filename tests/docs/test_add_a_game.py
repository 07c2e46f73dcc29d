import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from evade.envs.games import DEEPSEA, MINIGRID, PROTOCOLS, resolve
from evade.envs.settings import EnvConfig

PAGE = Path(__file__).parents[2] / "docs" / "do" / "add_a_game.md"


def test_the_programs_on_the_page_run_as_they_stand(tmp_path):
    game, look = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "my_games.py").write_text(game)
    (tmp_path / "look.py").write_text(look)
    command = [sys.executable, "-W", "error", "look.py"]
    result = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "GameSpec(channels=2, height=10, width=8, levels=2, num_actions=3" in result.stdout
    assert result.stdout.count("after 9 steps") == 8  # two episodes in each of four games


def test_the_game_on_the_page_is_sound(tmp_path):
    game = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    (tmp_path / "my_games.py").write_text(game)
    check = "from gymnasium.utils.env_checker import check_env; import my_games; check_env(my_games.Catch())"
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, check=True)


def test_the_table_of_settings_names_every_setting():
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [field.name for field in fields(EnvConfig)]


def test_the_table_of_settings_shows_every_familys_defaults():
    columns = ("atari", "minatar", "minigrid", "gymnasium")
    rows = {
        cells[1].strip("` "): [cell.strip() for cell in cells[3:7]]
        for cells in (line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `"))
    }
    assert PROTOCOLS["minigrid"] == PROTOCOLS["deepsea"], "one column for both"
    for setting in ("frame_skip", "max_noops"):
        assert rows[setting] == [f"{getattr(PROTOCOLS[kind], setting)}" for kind in columns]
    limits = [PROTOCOLS[kind].time_limit for kind in columns]
    assert rows["time_limit"] == ["own" if limit is None else f"{limit:,}" for limit in limits]
    assert rows["reward_range"] == ["{}, {}".format(*PROTOCOLS[kind].reward_range) for kind in columns]
    sizes = [PROTOCOLS[kind].frame_size for kind in columns]
    assert rows["frame_size"] == ["own" if size is None else f"{size[0]} x {size[1]}" for size in sizes]
    assert rows["num_frames"] == [f"{EnvConfig().num_frames}"] * 4


def test_the_names_on_the_page_are_known_and_the_documented_games_are_named():
    page = PAGE.read_text()
    for row in re.findall(r"^\| (`\w+/.*?) \| (.*?) \|", page, re.MULTILINE):
        first, *others = re.findall(r"`(.*?)`", " ".join(row))
        for name in others:
            if not first.startswith("deepsea"):
                assert resolve(name).name == first
    assert resolve("deepsea/20-3").name == "deepsea/20-3"
    for game in MINIGRID:
        assert game.id in page
    sizes = [game.id for game in DEEPSEA]
    assert f"the documented ones are {', '.join(sizes[:-1])} and {sizes[-1]}" in page
