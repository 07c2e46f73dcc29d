import json
import os
import shutil
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evade.errors import NoUsableCheckpoint, UnreadableFile
from evade.runs.checkpoint import load_checkpoint
from evade.runs.manifest import describe, encode_manifest, is_sound, read_verified
from saving import identify, save

FILES = ("MANIFEST.json", "policy.safetensors", "state.json", "world_model.safetensors")


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory):
    """A folder with checkpoints 1 and 2; copy it before damaging anything."""
    directory = tmp_path_factory.mktemp("checkpoints")
    save(directory, 1)
    save(directory, 2)
    return directory


@pytest.fixture
def directory(two_checkpoints, tmp_path):
    return shutil.copytree(two_checkpoints, tmp_path / "checkpoints")


def assert_passed_over(directory, *parts):
    """Checkpoint 2 is named with these words, and checkpoint 1 is used."""
    warnings = []
    assert identify(load_checkpoint(directory, warnings.append)) == (1, 0)
    assert len(warnings) == 1
    for part in (str(directory / "00000002"), *parts):
        assert part in warnings[0]


def flip(newest, older, name, draw):
    data = bytearray((newest / name).read_bytes())
    data[draw(st.integers(0, len(data) - 1))] ^= draw(st.integers(1, 255))
    (newest / name).write_bytes(data)


def truncate(newest, older, name, draw):
    os.truncate(newest / name, draw(st.integers(0, (newest / name).stat().st_size - 1)))


def lengthen(newest, older, name, draw):
    with (newest / name).open("ab") as file:
        file.write(draw(st.binary(min_size=1, max_size=9)))


def delete(newest, older, name, draw):
    (newest / name).unlink()


def swap(newest, older, name, draw):
    mine, theirs = (newest / name).read_bytes(), (older / name).read_bytes()
    (newest / name).write_bytes(theirs)
    (older / name).write_bytes(mine)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(FILES), st.sampled_from([flip, truncate, lengthen, delete]))
def test_any_damage_is_named_and_the_previous_checkpoint_used(two_checkpoints, data, name, harm):
    with tempfile.TemporaryDirectory() as folder:
        directory = shutil.copytree(two_checkpoints, Path(folder) / "checkpoints")
        newest, older = directory / "00000002", directory / "00000001"
        harm(newest, older, name, data.draw)
        # A damaged manifest may accuse the file it no longer describes.
        assert_passed_over(directory, *([] if name == "MANIFEST.json" else [name]))


@pytest.mark.parametrize("name", FILES)
def test_files_swapped_between_two_checkpoints_are_found_in_both(directory, name):
    swap(directory / "00000002", directory / "00000001", name, None)
    warnings = []
    with pytest.raises(NoUsableCheckpoint) as caught:
        load_checkpoint(directory, warnings.append)
    assert len(warnings) == 2
    for number in ("00000001", "00000002"):
        assert f"{number}/{name}" in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_file_from_the_previous_checkpoint_does_not_pass(directory, name):
    shutil.copy(directory / "00000001" / name, directory / "00000002" / name)
    assert_passed_over(directory, f"00000002/{name}")


def test_a_whole_checkpoint_under_another_number_does_not_pass(directory):
    shutil.rmtree(directory / "00000002")
    shutil.copytree(directory / "00000001", directory / "00000002")
    assert_passed_over(directory, "belongs to checkpoint 1, not 2")


def test_an_empty_folder_does_not_pass(directory):
    shutil.rmtree(directory / "00000002")
    (directory / "00000002").mkdir()
    assert_passed_over(directory, "MANIFEST.json is missing")


def rewrite(folder, change):
    """Change a checkpoint's manifest as someone would who knows how it is written."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    manifest = change(manifest) or manifest
    (folder / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n")


def test_a_manifest_written_again_unchanged_passes(directory):
    rewrite(directory / "00000002", lambda manifest: None)
    assert is_sound(2, directory / "00000002")


def test_an_unknown_format_is_passed_over_and_named(directory):
    rewrite(directory / "00000002", lambda manifest: manifest.update(format=2))
    assert_passed_over(directory, "MANIFEST.json has format 2; this version reads format 1")


@pytest.mark.parametrize(
    "name",
    ["../precious.safetensors", "/precious.safetensors", "a/b.safetensors", "..", "weights.pt", ".safetensors", "a\0b"],
)
def test_no_name_in_a_manifest_leads_anywhere(directory, name):
    (directory / "precious.safetensors").write_bytes(b"outside")
    rewrite(directory / "00000002", lambda manifest: manifest["files"].update({name: describe(b"outside")}))
    assert_passed_over(directory, "MANIFEST.json lists", repr(name))


@pytest.mark.parametrize("name", FILES)
def test_a_link_does_not_pass_even_to_the_right_bytes(directory, name):
    (directory / "00000002" / name).rename(directory / "elsewhere")
    (directory / "00000002" / name).symlink_to(directory / "elsewhere")
    assert_passed_over(directory, f"{name} is a link")


def test_a_linked_folder_does_not_pass(directory):
    (directory / "00000002").rename(directory / "elsewhere")
    (directory / "00000002").symlink_to(directory / "elsewhere")
    assert_passed_over(directory, "is not a plain folder")


def test_a_pipe_is_not_waited_for(directory):
    (directory / "00000002" / "state.json").unlink()
    os.mkfifo(directory / "00000002" / "state.json")
    assert_passed_over(directory, "state.json is a pipe")


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: [manifest],
        lambda manifest: {"files": [], "format": 1, "number": 2},
        lambda manifest: {"files": {}, "format": 1, "number": 2},
        lambda manifest: manifest["files"].pop("state.json") and None,
        lambda manifest: manifest["files"].update({"state.json": 5}),
        lambda manifest: manifest["files"].update({"state.json": {"size": None}}),
        lambda manifest: manifest["files"]["state.json"].update(size=-1),
    ],
)
def test_a_manifest_that_says_nonsense_does_not_pass(directory, change):
    rewrite(directory / "00000002", change)
    assert_passed_over(directory)


@pytest.mark.parametrize("data", [b"1e999\n", b'"\\ud800"\n', b"[" * 900 + b"]" * 900, b" " * (1 << 20) + b"{}"])
def test_a_manifest_meant_to_confuse_does_not_pass(directory, data):
    (directory / "00000002" / "MANIFEST.json").write_bytes(data)
    assert_passed_over(directory, "MANIFEST.json")


def header(text):
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("policy.safetensors", b"garbage"),
        ("policy.safetensors", struct.pack("<Q", 1 << 60) + b"{}"),
        ("policy.safetensors", header(b'{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}') + b"\0"),
        ("policy.safetensors", header(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}')),
        ("policy.safetensors", header(b'{"a":{"dtype":"no","shape":[1],"data_offsets":[0,4]}}') + bytes(4)),
        ("state.json", b"[]\n"),
        ("state.json", b"{"),
        ("state.json", b'{"loss": NaN}'),
    ],
)
def test_what_cannot_be_decoded_does_not_pass_even_with_the_right_hash(directory, name, data):
    (directory / "00000002" / name).write_bytes(data)
    rewrite(directory / "00000002", lambda manifest: manifest["files"].update({name: describe(data)}))
    assert_passed_over(directory, name)


def test_only_what_the_manifest_lists_is_read(tmp_path):
    (tmp_path / "state.json").write_bytes(b"{}")
    (tmp_path / "stranger.safetensors").write_bytes(b"garbage")
    (tmp_path / "MANIFEST.json").write_bytes(encode_manifest(4, {"state.json": describe(b"{}")}))
    assert read_verified(4, tmp_path) == {"state.json": b"{}"}
    with pytest.raises(UnreadableFile, match="belongs to checkpoint 4"):
        read_verified(5, tmp_path)
