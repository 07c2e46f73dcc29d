"""Files that somebody else may have written."""

import os

import pytest

from evade.errors import UnreadableFile
from evade.guarded import open_descriptor, read_regular


def link(path, target):
    path.symlink_to(target)


def dangling_link(path, target):
    path.symlink_to("absent")


def folder(path, target):
    path.mkdir()


def pipe(path, target):
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "said"),
    [(link, "a link"), (dangling_link, "a link"), (folder, "a folder"), (pipe, "a pipe")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_only_regular_files_are_opened_and_nothing_is_waited_for(tmp_path, make, said):
    (tmp_path / "target").write_bytes(b"theirs")
    make(tmp_path / "file", tmp_path / "target")
    for flags in (os.O_RDONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(UnreadableFile, match=f"file is {said}: must be a regular file"):
            open_descriptor(tmp_path / "file", flags)
    with pytest.raises(UnreadableFile, match=said):
        read_regular(tmp_path / "file", 100)
    assert (tmp_path / "target").read_bytes() == b"theirs"


def test_a_file_with_a_second_name_is_read_but_not_written(tmp_path):
    (tmp_path / "file").write_bytes(b"theirs")
    os.link(tmp_path / "file", tmp_path / "other")
    assert read_regular(tmp_path / "other", 6) == b"theirs"
    with pytest.raises(UnreadableFile, match="a second name"):
        open_descriptor(tmp_path / "other", os.O_RDWR)


def test_a_file_larger_than_expected_is_not_read(tmp_path):
    (tmp_path / "file").touch()
    os.truncate(tmp_path / "file", 1 << 40)
    with pytest.raises(UnreadableFile, match="1,099,511,627,776 bytes; at most 100 are expected"):
        read_regular(tmp_path / "file", 100)
    with pytest.raises(UnreadableFile, match="absent is missing"):
        read_regular(tmp_path / "absent", 100)
