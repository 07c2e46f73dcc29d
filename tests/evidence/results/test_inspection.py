import dataclasses
import json

import numpy as np
import pytest

from evade.errors import UnreadableFile
from evade.evidence.results import inspection as module
from evade.evidence.results.inspection import read_inspection, write_inspection
from evade.runs.documents import CHECKSUM, checksum
from inspections import make_inspection


def equal(one, other):
    """Whether two records are equal, arrays bit for bit."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if dataclasses.is_dataclass(one):
        return all(equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def forge(path, document):
    """Write another document with a checksum that fits it."""
    rest = {name: value for name, value in document.items() if name != CHECKSUM}
    path.write_text(json.dumps(rest | {CHECKSUM: checksum(rest)}))


def test_a_number_changed_without_its_checksum_is_refused(tmp_path):
    path = tmp_path / "inspection.json"
    write_inspection(path, make_inspection())
    document = json.loads(path.read_text())
    document["mean"][0] += 1
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableFile, match="changed after it was written: its checksum differs"):
        read_inspection(path)
    del document[CHECKSUM]  # as an earlier version wrote it
    path.write_text(json.dumps(document))
    assert read_inspection(path).mean[0] == np.float32(document["mean"][0])


@pytest.mark.parametrize("with_prior", [True, False])
def test_what_is_written_is_read_back_exactly(tmp_path, with_prior):
    written = make_inspection(with_prior=with_prior)
    write_inspection(tmp_path / "inspection.json", written)
    assert equal(read_inspection(tmp_path / "inspection.json"), written)
    changed = dataclasses.replace(written, mean=written.mean + np.float32(1e-6))
    assert not equal(changed, written), "the comparison notices a small difference"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mean": [0.5]}, "do not fit together"),
        ({"draws": [["x", 1]]}, "could not convert"),
        ({"draws": []}, "instead of 2 axes"),
        ({"picture": [[1, 2, 3]]}, "instead of 3 axes"),
        ({"changes": [{"layer": "weighting"}]}, "before"),
        ({"changes": 3}, "not iterable"),
        ({"more": 1}, "unexpected keyword"),
    ],
)
def test_another_document_is_refused(tmp_path, change, said):
    path = tmp_path / "inspection.json"
    write_inspection(path, make_inspection())
    forge(path, json.loads(path.read_text()) | change)
    with pytest.raises(UnreadableFile, match="is not an inspection") as caught:
        read_inspection(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"block": [3, 4]}, "do not tile"),
        ({"block": [0, 1]}, "do not tile"),
        ({"names": ["a"]}, "1 names for 5 blocks"),
    ],
)
def test_an_image_that_does_not_fit_its_blocks_is_refused(tmp_path, change, said):
    path = tmp_path / "inspection.json"
    write_inspection(path, make_inspection())
    document = json.loads(path.read_text())
    document["sigmas"][0] |= change
    forge(path, document)
    with pytest.raises(UnreadableFile, match=said):
        read_inspection(path)


def test_a_file_that_is_missing_too_large_or_not_json_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "inspection.json"
    with pytest.raises(UnreadableFile, match="is missing"):
        read_inspection(path)
    path.write_text("[1, 2]")
    with pytest.raises(UnreadableFile, match="is not an inspection"):
        read_inspection(path)
    monkeypatch.setattr(module, "MAX_BYTES", 5)
    with pytest.raises(UnreadableFile, match="has 6 bytes; at most 5 are expected"):
        read_inspection(path)
