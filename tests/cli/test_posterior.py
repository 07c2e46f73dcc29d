"""`evade posterior`, on random play and on a run."""

import json

import pytest

from evade.cli.main import MISTAKE, main

SMALL = ("--updates", "8", "--draws", "4", "--sightings", "0,5")


def test_random_play_gives_a_table_a_figure_and_a_file(tmp_path, capsys):
    words = ["posterior", "--game", "minatar/breakout", "--preset", "smoke", "--steps", "2400", "--prior-scale", "0.3"]
    assert main([*words, *SMALL, "-o", str(tmp_path / "out")]) == 0
    output = capsys.readouterr().out
    assert "minatar/breakout, evade" in output
    assert "AUC" in output
    document = json.loads((tmp_path / "out" / "posterior.json").read_text())
    assert [row["num_seen"] for row in document["sightings"]] == [0, 5]
    assert document["sightings"][0]["spread"] > 0.02
    assert b"times the event was seen" in (tmp_path / "out" / "posterior.svg").read_bytes()


def test_a_run_is_measured_with_its_own_policy_and_not_changed(tmp_path, capsys):
    train = ["train", "smoke", "evade", "--runs-dir", str(tmp_path), "--schedule.first-real-steps", "1600"]
    assert main([*train, "--world-model.reward.prior-scale", "0.3", "--schedule.iterations", "1"]) == 0
    (config,) = tmp_path.rglob("config.json")
    before = {path: path.stat().st_mtime_ns for path in config.parent.rglob("*")}
    (config.parent / "replay" / "notes.txt").write_text("a user's own")
    before |= {path: path.stat().st_mtime_ns for path in (config.parent / "replay").iterdir()}
    assert main(["posterior", *SMALL, str(config.parent)]) == 0
    output = capsys.readouterr().out
    assert "draws disagree by" in output
    assert "under two draws differ by" in output
    after = {path: path.stat().st_mtime_ns for path in config.parent.rglob("*")}
    assert {path for path in after if path.is_file()} == {path for path in before if path.is_file()}
    assert all(after[path] == before[path] for path in after if path.is_file())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--game", "minatar/brekout"], "did you mean"),
        (["nowhere"], "is not a run"),
        (["--preset", "huge"], "Unknown preset"),
    ],
)
def test_a_users_mistake_is_one_line(words, said, capsys):
    assert main(["posterior", *words]) == MISTAKE
    assert said in capsys.readouterr().err
