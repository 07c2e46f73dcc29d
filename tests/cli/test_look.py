"""`evade look` from the command line, in a process of its own."""

import os
import re
import signal
from urllib.request import urlopen

import pytest

from devtools import wait_until
from evade.cli import look as look_module
from evade.cli.main import MISTAKE, main
from forking import EvadeProcess


def left_in(folder):
    """Files in a folder for temporary ones, without the cache that torch makes when it is imported."""
    return [path for path in folder.iterdir() if not path.name.startswith("torchinductor")]


def started(*words):
    process = EvadeProcess(["look", *words, "--no-browser"], dict(os.environ))
    url = wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", process._output.read_text()), 60)[0]
    return process, url


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_is_served_until_a_signal(number, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, url = started("--demo")
    with urlopen(url) as page:  # noqa: S310 - our own address
        assert b"evade look" in page.read()
    process.send_signal(number)
    output, _ = process.communicate(20)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in output
    assert left_in(tmp_path) == []


def test_a_killed_server_frees_its_port_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, url = started("--demo")
    process.kill()
    process.communicate(20)
    assert left_in(tmp_path) == []
    port = url.split(":")[2].split("/")[0]
    process, again = started("--demo", "--port", port)
    assert f":{port}/" in again
    assert again != url, "the token is new"
    process.kill()
    process.communicate(20)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Give a run folder, or --demo"),
        (["somewhere", "--demo"], "Give a run folder, or --demo"),
        (["nowhere"], "nowhere is not a run"),
        (["--demo", "--port", "99999"], "Cannot listen on port 99999"),
    ],
)
def test_mistakes_are_one_line(words, message, capsys):
    assert main(["look", *words, "--no-browser"]) == MISTAKE
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_missing_extra_names_itself(capsys, monkeypatch):
    def missing(module, extra):
        return original("no_such_module", extra)

    original = look_module.import_extra
    monkeypatch.setattr(look_module, "import_extra", missing)
    assert main(["look", "--demo"]) == MISTAKE
    assert "pip install 'evade[look]'" in capsys.readouterr().err
