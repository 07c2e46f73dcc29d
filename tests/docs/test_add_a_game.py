import re
import subprocess
import sys
from pathlib import Path

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
    from dataclasses import fields

    from evade.config import EnvConfig

    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [field.name for field in fields(EnvConfig)]
