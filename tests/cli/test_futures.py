"""`evade futures`: what it refuses."""

import pytest

from evade.cli.main import MISTAKE, main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count", "0"], "Invalid count = 0: must be 1 to 32"),
        (["--count", "-1"], "Invalid count = -1"),
        (["--count", "1000000000"], "Invalid count = 1000000000"),
        (["--steps", "0"], "Invalid steps = 0: must be 1 to 50"),
        (["--steps", "-1"], "Invalid steps = -1"),
        (["--seed", "-1"], "Invalid seed = -1"),
        (["--seed", "99999999999999999999"], "Invalid seed = 99999999999999999999"),
    ],
)
def test_a_users_mistake_is_one_line(tmp_path, words, said, capsys):
    assert main(["futures", str(tmp_path), "--to", str(tmp_path / "picture.png"), *words]) == MISTAKE
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1
    assert not (tmp_path / "picture.png").exists()
