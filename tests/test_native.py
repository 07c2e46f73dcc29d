"""C++ compiled on first use."""

import ctypes

import pytest
import torch

from evade.native import call, load_library

TWICE = """
#include <cstdint>
extern "C" void twice(const float* from, float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = from ? 2 * from[i] : -1;
}
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A small source with an empty cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "twice.cpp"
    source.write_text(TWICE)
    load_library.cache_clear()
    yield source
    load_library.cache_clear()


def made_by(folder):
    return list((folder / "evade" / "native").iterdir())


def test_a_call_passes_tensors_nothing_and_numbers(source):
    numbers, result = torch.arange(5.0), torch.zeros(5)
    function = load_library(source).twice
    call(function, numbers, result, 5)
    assert torch.equal(result, 2 * numbers)
    call(function, None, result, 5)
    assert torch.equal(result, torch.full((5,), -1.0))


def test_a_library_is_compiled_once_and_a_damaged_one_is_not_used(source, monkeypatch, tmp_path):
    assert isinstance(load_library(source), ctypes.CDLL)
    (made,) = made_by(tmp_path)
    changed = made.stat().st_mtime_ns
    load_library.cache_clear()
    assert load_library(source) is not None
    assert made.stat().st_mtime_ns == changed
    damaged = tmp_path / "other" / "evade" / "native" / made.name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"not a library")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    load_library.cache_clear()
    assert load_library(source) is None


def test_a_changed_source_is_compiled_again(source, tmp_path):
    assert load_library(source) is not None
    source.write_text(TWICE.replace("2 *", "3 *"))
    load_library.cache_clear()
    result = torch.zeros(5)
    call(load_library(source).twice, torch.ones(5), result, 5)
    assert torch.equal(result, torch.full((5,), 3.0))
    assert len(made_by(tmp_path)) == 2


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_working_compiler_there_is_no_library(source, compiler, monkeypatch):
    monkeypatch.setenv("CXX", compiler)
    assert load_library(source) is None
