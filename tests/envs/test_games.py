import subprocess
import sys

import pytest

from evade.envs.games import (
    ATARI_100K,
    DEEPSEA,
    MINATAR,
    MINIGRID,
    PROTOCOLS,
    Protocol,
    check_import,
    choose_protocol,
    resolve,
)
from evade.envs.settings import EnvConfig
from evade.errors import ImportRefused, UnknownGame


def test_the_suites_are_complete_and_in_the_papers_order():
    titles = [game.title for game in ATARI_100K]
    assert len(set(titles)) == 26
    assert titles == sorted(titles)
    assert [game.name for game in MINATAR] == [
        "minatar/asterix",
        "minatar/breakout",
        "minatar/freeway",
        "minatar/seaquest",
        "minatar/space_invaders",
    ]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("ALE/Pong-v5", "atari/pong"),
        ("ale/pong-v5", "atari/pong"),
        ("PongNoFrameskip-v4", "atari/pong"),
        ("Pong-v0", "atari/pong"),
        ("atari/Pong", "atari/pong"),
        ("atari/ms_pacman", "atari/ms_pacman"),
        ("atari/MsPacman", "atari/ms_pacman"),
        ("Atari/Ms Pacman", "atari/ms_pacman"),
        ("atari/JamesBond", "atari/jamesbond"),
        ("ALE/Jamesbond-v5", "atari/jamesbond"),
        ("minatar/space_invaders", "minatar/space_invaders"),
        ("MinAtar/SpaceInvaders-v0", "minatar/space_invaders"),
        ("MinAtar/Breakout-v1", "minatar/breakout"),
        ("atari/tennis", "atari/tennis"),
        ("minigrid/DoorKey-5x5", "minigrid/DoorKey-5x5"),
        ("MiniGrid-DoorKey-5x5-v0", "minigrid/DoorKey-5x5"),
        ("minigrid/doorkey-5x5", "minigrid/DoorKey-5x5"),
        ("minigrid/DoorKey-5x5-v0", "minigrid/DoorKey-5x5"),
        ("minigrid/four_rooms", "minigrid/FourRooms"),
        ("minigrid/doorkey-16x16", "minigrid/DoorKey-16x16"),
        ("MiniGrid-MultiRoom-N4-S5-v0", "minigrid/MultiRoom-N4-S5"),
        ("MiniGrid-MultiRoom-N4-S5-v1", "minigrid/MultiRoom-N4-S5-v1"),
        ("deepsea/20", "deepsea/20"),
        ("DeepSea/7", "deepsea/7"),
        ("deep_sea/20-0", "deepsea/20"),
        ("deepsea/020-03", "deepsea/20-3"),
        ("CartPole-v1", "CartPole-v1"),
        ("gymnasium:CartPole-v1", "gymnasium:CartPole-v1"),
    ],
)
def test_a_game_is_found_by_each_of_its_names(asked, name):
    assert resolve(asked).name == name
    assert resolve(resolve(asked).name) == resolve(asked)


def test_every_game_of_the_suites_resolves_to_itself():
    for game in (*ATARI_100K, *MINATAR, *MINIGRID, *DEEPSEA):
        assert resolve(game.name) == game
    for game in MINIGRID:
        assert resolve(game.minigrid_id) == game
    for game in ATARI_100K:
        assert resolve(game.ale_id) == resolve(f"atari/{game.title}") == game


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        ("atari/pnog", "atari/pong"),
        ("ALE/Brekout-v5", "atari/breakout"),
        ("minatar/seequest", "minatar/seaquest"),
        ("qbert", "atari/qbert"),
        ("spaceinvader", "minatar/space_invaders"),
        ("Cartpole-v1", "CartPole-v1"),
        ("ALE/Pong-v9", "atari/pong"),
        ("minigrid/DoorKey-5x6", "minigrid/DoorKey-5x5"),
        ("minigrid/MultiRoom-N5-S5", "minigrid/MultiRoom-N4-S5"),
        ("MiniGrid-LavaGap-S6-v0", "minigrid/LavaGapS6"),
        ("deepsea/twenty", "deepsea/20"),
    ],
)
def test_a_wrong_name_suggests_similar_ones(asked, suggested):
    with pytest.raises(UnknownGame, match="^Unknown game .*: did you mean ") as caught:
        resolve(asked)
    assert suggested in str(caught.value)
    assert repr(asked) in str(caught.value)


def test_a_bare_name_of_two_games_suggests_both():
    with pytest.raises(UnknownGame) as caught:
        resolve("breakout")
    assert "atari/breakout or minatar/breakout?" in str(caught.value)


def test_a_name_like_no_other_says_what_names_look_like():
    with pytest.raises(UnknownGame) as caught:
        resolve("xyzzy-12345")
    assert "did you mean" not in str(caught.value)
    assert "Give atari/NAME, minatar/NAME, minigrid/NAME, deepsea/N, or the id" in str(caught.value)


@pytest.mark.parametrize("name", ["deepsea/1", "deepsea/51", "deepsea/20-99999999999"])
def test_sizes_that_deepsea_does_not_have_are_refused(name):
    with pytest.raises(UnknownGame, match=f"Unknown game '{name}': give deepsea/N .* from 2 to 50"):
        resolve(name)


def test_a_module_that_cannot_be_imported_is_named():
    with pytest.raises(UnknownGame, match="importing 'no_such_module' failed"):
        resolve("no_such_module:Game-v0")


def test_a_module_registers_its_game_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "late_games.py").write_text(
        "import gymnasium\ngymnasium.register('LateGame-v0', entry_point='late_games:Nothing')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownGame):
        resolve("LateGame-v0")
    assert resolve("late_games:LateGame-v0").name == "late_games:LateGame-v0"


def test_without_ale_the_26_games_are_still_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    assert resolve("ALE/Pong-v5").name == "atari/pong"
    with pytest.raises(UnknownGame):
        resolve("atari/tennis")


def test_without_minigrid_the_documented_games_are_still_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid", None)
    assert resolve("MiniGrid-FourRooms-v0").name == "minigrid/FourRooms"


def test_settings_override_the_familys_protocol():
    pong = resolve("atari/pong")
    assert choose_protocol(pong, EnvConfig()) == PROTOCOLS["atari"]
    assert choose_protocol(pong, EnvConfig(frame_size=(53, 40), max_noops=0)) == Protocol(
        frame_size=(53, 40), frame_skip=4, max_noops=0, time_limit=100_000, reward_range=(-1, 1)
    )


def test_naming_games_loads_neither_torch_nor_a_game():
    code = (
        "import sys; import evade.envs; from evade.envs.games import resolve; resolve('minatar/breakout');"
        "resolve('deepsea/20'); assert not {'torch', 'minatar', 'minigrid'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_from_a_document_is_imported_only_if_allowed_or_loaded():
    for name in ("minatar/breakout", "CartPole-v1", "os:x", "os.path:x"):
        check_import(name, ())
    check_import("helper:x", ["helper"])
    check_import("helper.games:x", ["helper"])
    for name, allowed in (("helper:x", ()), ("helper:x", ["other"]), ("helpers:x", ["helper"])):
        with pytest.raises(ImportRefused, match="--allow-import helper"):
            check_import(name, allowed)


@pytest.mark.parametrize("name", ["", " ", ":x", "x:", ".x:y", "a:b:c", "fake_broken_module:x"])
def test_a_name_that_cannot_be_imported_is_an_unknown_game(name, tmp_path, monkeypatch):
    (tmp_path / "fake_broken_module.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnknownGame, match="Unknown game"):
        resolve(name)
