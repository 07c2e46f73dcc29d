"""config.json and status.json, checked where they are read."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import EvadeError, RunError, UnreadableFile
from evade.runs.documents import ConfigDocument, read_config, read_status, write_config, write_status
from evade.runs.folder import RunFolder
from evade.runs.journal import NOTHING

SETTINGS = {"preset": "smoke", "variant": "evade", "game": "minatar/breakout", "seed": 3}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def folder(tmp_path):
    write_config(RunFolder(tmp_path), ConfigDocument(SETTINGS, "abc", 1, 1))
    score = {"mean": 2.5, "standard_error": 0.5, "episodes": 4, "random": 0.25}
    journals = {"scores": NOTHING.document()}
    write_status(RunFolder(tmp_path), "finished", {"iteration": 2, "iterations": 2}, score=score, journals=journals)
    return RunFolder(tmp_path)


def test_both_come_back(folder):
    assert read_config(folder) == ConfigDocument(SETTINGS, "abc", 1, 1)
    status = read_status(folder)
    assert (status.word, status.standing, status.score["mean"]) == ("finished", {"iteration": 2, "iterations": 2}, 2.5)
    assert status.journals == {"scores": NOTHING}


@pytest.mark.parametrize(("old", "new"), [('"seed": 3', '"seed": 7'), ('"sha256"', '"sha257"'), ("abc", "abd")])
def test_a_changed_character_in_the_settings_is_found(folder, old, new):
    text = folder.config.read_text()
    folder.config.write_text(text.replace(old, new, 1))
    assert text != folder.config.read_text()
    with pytest.raises(EvadeError, match="config.json"):
        read_config(folder)


def test_a_changed_score_in_the_status_is_found(folder):
    folder.status.write_text(folder.status.read_text().replace("2.5", "9.5"))
    with pytest.raises(UnreadableFile, match="status.json was changed after it was written"):
        read_status(folder)


def test_documents_of_earlier_versions_have_no_checksum_and_are_read(folder):
    for path in (folder.config, folder.status):
        document = json.loads(path.read_text())
        del document["sha256"]
        path.write_text(json.dumps(document))
    assert read_config(folder).settings == SETTINGS
    assert read_status(folder).word == "finished"


def test_a_missing_status_is_a_new_run_unless_there_are_checkpoints(folder):
    folder.status.unlink()
    assert read_status(folder).word == "new"
    (folder.checkpoints / "00000001").mkdir(parents=True)
    with pytest.raises(UnreadableFile, match="status.json is missing, although the run has checkpoints"):
        read_status(folder)


@given(document=JSON, place=st.sampled_from(["settings", "fingerprint", "status", "score", "journals", "updated"]))
def test_whatever_they_hold_only_our_errors_come_out(tmp_path_factory, document, place):
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    config = {"settings": SETTINGS, "fingerprint": "f", "preprocessing_version": 1, "evaluation_version": 1}
    status = {"status": "running", "updated": 1.0}
    for path, usual, read in ((folder.config, config, read_config), (folder.status, status, read_status)):
        for content in (document, usual | {place: document}):
            path.write_text(json.dumps(content))
            with suppress(EvadeError):
                read(folder)


def test_a_foreign_document_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"name": "another program"}')
    with pytest.raises(RunError, match="config.json has name: this version of evade did not write it"):
        read_config(RunFolder(tmp_path))
