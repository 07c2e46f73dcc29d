import errno
import os
import re
from hashlib import sha256 as reference_sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evade.errors import NotStorable, StorageError, UnreadableFile
from evade.runs.files import (
    decode_json,
    encode_json,
    make_folder,
    read_json,
    remove_leftovers,
    sha256,
    storage_errors,
    write_atomically,
    write_json,
)

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@given(DOCUMENTS)
def test_every_json_value_survives(document):
    assert decode_json(encode_json(document)) == document
    assert encode_json(document, indent=None).count(b"\n") == 1


@pytest.mark.parametrize("document", [float("nan"), {"a": [float("inf")]}, {1, 2}, b"bytes", "\ud800"])
def test_what_json_cannot_say_is_refused_and_nothing_is_written(tmp_path, document):
    with pytest.raises(NotStorable, match=re.escape(repr(document))):
        write_json(tmp_path / "file.json", document)
    assert names(tmp_path) == []


def test_write_and_read(tmp_path):
    write_json(tmp_path / "file.json", {"old": 1})
    write_json(tmp_path / "file.json", {"new": [1, None, "é"]})
    assert read_json(tmp_path / "file.json") == {"new": [1, None, "é"]}
    assert names(tmp_path) == ["file.json"]


@pytest.mark.parametrize("data", [b"", b"{", b"{} {}", b'{"a": NaN}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_is_named(tmp_path, data):
    path = tmp_path / "file.json"
    path.write_bytes(data)
    with pytest.raises(UnreadableFile, match=re.escape(str(path))):
        read_json(path)


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "file.json"
    with pytest.raises(UnreadableFile, match=f"{re.escape(str(path))} is missing"):
        read_json(path)
    with pytest.raises(UnreadableFile, match=re.escape(str(path))):
        sha256(path)


def test_sha256(tmp_path):
    data = bytes(range(256)) * 10_000
    write_atomically(tmp_path / "file", data)
    assert sha256(tmp_path / "file") == reference_sha256(data).hexdigest()


def test_bytes_reach_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, disk_calls):
    write_atomically(tmp_path / "file", b"12345")
    (what, where, size), *rest = disk_calls
    assert (what, size) == ("fsync", 5)
    assert Path(where).parent == tmp_path
    assert rest == [("rename", where, str(tmp_path / "file")), ("fsync", str(tmp_path), None)]


def test_new_folders_are_durable_in_the_folders_above(tmp_path, disk_calls):
    make_folder(tmp_path / "a" / "b")
    assert {call[1] for call in disk_calls} == {str(tmp_path), str(tmp_path / "a")}
    disk_calls.clear()
    make_folder(tmp_path / "a" / "b")
    assert disk_calls == []


def test_a_full_disk_leaves_the_old_file_and_nothing_else(small_disk):
    path = small_disk.path / "status.json"
    write_atomically(path, b"old")
    data = bytes(30_000)
    for room in (0, 4096, 8192):
        with small_disk.room(room), pytest.raises(StorageError) as caught:
            write_atomically(path, data)
        assert str(path) in str(caught.value)
        assert "30,000 bytes were needed" in str(caught.value)
        assert re.search(r"[\d,]+ are free", str(caught.value))
        assert "The last checkpoint is intact" in str(caught.value)
        assert path.read_bytes() == b"old"
        assert names(small_disk.path) == ["status.json"]
    write_atomically(path, data)
    assert path.read_bytes() == data


def test_the_free_bytes_are_the_disks(disk):
    with disk.room(8192), pytest.raises(StorageError) as caught:
        write_atomically(disk.path / "file", bytes(500_000))
    free = int(re.search(r"([\d,]+) are free", str(caught.value))[1].replace(",", ""))
    assert free == 8192 if disk.is_tmpfs else free > 0


@pytest.mark.parametrize("failing", ["fsync", "rename"])
def test_a_call_that_fails_before_the_name_is_given_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, failing
):
    path = tmp_path / "status.json"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(StorageError, match="Input/output error"):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["status.json"]


def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="No such file or directory"):
        write_atomically(tmp_path / "missing" / "file", b"")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        make_folder(tmp_path / "file")


def test_leftovers_are_removed_and_links_not_followed(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").touch()
    run = tmp_path / "run"
    mark = "0123456789abcdef" * 2
    (run / f".tmp-folder-{mark}" / "deep").mkdir(parents=True)
    (run / f".tmp-file.json-{mark}").touch()
    (run / f".tmp-game-{mark}.mp4").touch()
    (run / f".tmp-link-{mark}").symlink_to(tmp_path / "outside")
    (run / ".tmp-mine").touch()
    (run / "status.json").touch()
    remove_leftovers(run)
    assert names(run) == [f".tmp-link-{mark}", ".tmp-mine", "status.json"]
    assert (tmp_path / "outside" / "precious").exists()


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "you may not write there"),
        (errno.EROFS, "you may not write there"),
        (errno.ENOSPC, "Free some space"),
        (errno.ENOTDIR, "something else is in its place"),
    ],
)
def test_the_advice_fits_the_reason(tmp_path, number, advice):
    with pytest.raises(StorageError, match=advice) as caught, storage_errors(tmp_path, 5):
        raise OSError(number, os.strerror(number))
    assert ("Free some space" in str(caught.value)) == (number == errno.ENOSPC)


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\udfff": 1}', "[" * 100_000])
def test_text_that_could_not_be_written_again_is_not_read(text):
    with pytest.raises(ValueError, match="surrogates not allowed|nested too deeply"):
        decode_json(text.encode())
