import pytest

from evade.runs.files import written_whole


def test_a_file_appears_with_its_final_name_only_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "report.png"
    with written_whole(path) as draft:
        draft.write_text("half")
        assert not path.exists()
        assert (draft.parent, draft.suffix) == (path.parent, path.suffix)
    assert path.read_text() == "half"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "report.png"
    path.write_text("old")

    def fail():
        with written_whole(path) as draft:
            draft.write_text("half of the new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
