import errno
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

import saving
from evade.errors import NonFiniteWeights, NotStorable, NoUsableCheckpoint, StorageError
from evade.runs.checkpoint import load_checkpoint, save_checkpoint
from saving import contents, identify, load_whole, save

BEFORE = ("save:begin:1", "save:tensors:1", "save:tensors:2", "save:manifest:1", "save:before-rename:1")
AFTER = ("save:after-rename:1", "save:cleaned:1")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refuse_warnings(message):
    pytest.fail(message)


def save_and_die(directory, number, failpoint, version=0):
    """Another process saves a checkpoint and is killed at the failpoint."""
    result = subprocess.run(
        [sys.executable, saving.__file__, directory, str(number), str(version)],
        env={**os.environ, "EVADE_FAILPOINT": failpoint},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == -signal.SIGKILL, result.stderr


def failure_of(act, *arguments, **keywords):
    """What a `StorageError` says, None if there is none."""
    try:
        act(*arguments, **keywords)
    except StorageError as error:
        return str(error)
    return None


def test_none_if_there_never_was_one(tmp_path):
    assert load_checkpoint(tmp_path / "missing", refuse_warnings) is None
    assert load_checkpoint(tmp_path, refuse_warnings) is None
    (tmp_path / ".tmp-00000001-unfinished").mkdir()
    (tmp_path / "notes.txt").touch()
    assert load_checkpoint(tmp_path, refuse_warnings) is None


def test_everything_comes_back(tmp_path):
    path = save(tmp_path / "checkpoints", 7)
    assert path == tmp_path / "checkpoints" / "00000007"
    assert names(path) == ["MANIFEST.json", "policy.safetensors", "state.json", "world_model.safetensors"]
    assert load_whole(tmp_path / "checkpoints") == (7, 0)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool]
)
def test_bits_shapes_and_types_survive(tmp_path, dtype):
    generator = torch.Generator().manual_seed(1)
    tensors = {
        "many": torch.randn(4, 3, generator=generator).mul(3).to(dtype),
        "none": torch.zeros(0, 2, dtype=dtype),
        "one": torch.tensor(1, dtype=dtype),
    }
    save_checkpoint(tmp_path, 1, {"group": tensors, "empty": {}}, {})
    loaded = load_checkpoint(tmp_path, refuse_warnings)
    assert loaded.tensors["empty"] == {}
    for name, tensor in tensors.items():
        assert loaded.tensors["group"][name].dtype == dtype
        assert torch.equal(loaded.tensors["group"][name], tensor)


def test_tensors_that_share_memory_or_are_strided_keep_their_values(tmp_path):
    base = torch.arange(24.0).reshape(1, 2, 3, 4)
    module = torch.nn.Linear(2, 2)
    tensors = {
        "base": base,
        "same": base,
        "part": base[0, 1],
        "turned": base.transpose(1, 3),
        "expanded": base[0, 0, 0, :1].expand(3, 5),
        "channels_last": base.to(memory_format=torch.channels_last),
        "parameter": module.weight,
    }
    save_checkpoint(tmp_path, 1, {"group": tensors}, {})
    loaded = load_checkpoint(tmp_path, refuse_warnings).tensors["group"]
    for name, tensor in tensors.items():
        assert torch.equal(loaded[name], tensor.detach()), name
    loaded["base"].zero_()
    assert torch.equal(loaded["same"], base)


def test_the_same_state_gives_the_same_bytes(tmp_path):
    first, second = save(tmp_path / "a", 1), save(tmp_path / "b", 1)
    for name in names(first):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_the_newest_is_a_matter_of_number_and_two_are_kept(tmp_path):
    for number in (1, 2, 9, 10, 99_999_999, 100_000_000):
        save(tmp_path, number)
        assert load_whole(tmp_path) == (number, 0)
    assert names(tmp_path) == ["100000000", "99999999"]


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_as_many_are_kept_as_was_asked(tmp_path, keep):
    for number in range(1, 6):
        save(tmp_path, number, keep=keep)
    assert names(tmp_path) == [f"{number:08d}" for number in range(6 - keep, 6)]


def test_stale_unfinished_ones_are_removed_and_strangers_stay(tmp_path):
    unfinished = tmp_path / f".tmp-00000001-{'0' * 32}"
    unfinished.mkdir()
    (unfinished / "policy.safetensors").touch()
    (tmp_path / "notes.txt").touch()
    save(tmp_path, 1)
    assert names(tmp_path) == ["00000001", "notes.txt"]


def test_an_old_checkpoint_with_somebody_elses_file_in_it_stays(tmp_path):
    for number in range(1, 5):
        folder = save(tmp_path, number)
        if number == 1:
            (folder / "notes.txt").touch()
    assert names(tmp_path) == ["00000001", "00000003", "00000004"]
    assert (tmp_path / "00000001" / "notes.txt").exists()


@pytest.mark.parametrize("failpoint", BEFORE + AFTER)
def test_killed_inside_saving_the_old_or_the_new_one_is_whole(tmp_path, failpoint):
    save(tmp_path, 1)
    save(tmp_path, 2)
    save_and_die(tmp_path, 3, failpoint)
    survivor = 2 if failpoint in BEFORE else 3
    assert load_whole(tmp_path) == (survivor, 0)
    save(tmp_path, 4)
    assert load_whole(tmp_path) == (4, 0)
    assert names(tmp_path) == [f"{survivor:08d}", "00000004"]


@pytest.mark.parametrize("failpoint", ["save:tensors:1", "save:before-rename:1", "save:after-rename:1"])
def test_killed_inside_the_first_save_there_is_none_or_the_new_one(tmp_path, failpoint):
    save_and_die(tmp_path, 1, failpoint)
    assert load_whole(tmp_path) == (None if failpoint in BEFORE else (1, 0))
    save(tmp_path, 1, version=1)
    assert load_whole(tmp_path) == (1, 1)
    assert names(tmp_path) == ["00000001"]


@pytest.mark.parametrize(
    ("failpoint", "version"), [("save:before-rename:1", 0), ("save:set-aside:1", 0), ("save:after-rename:1", 1)]
)
def test_killed_while_replacing_the_only_one_the_old_or_the_new_one_is_whole(tmp_path, failpoint, version):
    save(tmp_path, 5)
    save_and_die(tmp_path, 5, failpoint, version=1)
    assert load_whole(tmp_path) == (5, version)
    save(tmp_path, 5, version=2)
    assert load_whole(tmp_path) == (5, 2)
    assert names(tmp_path) == ["00000005"]


def test_killed_at_random_times_the_newest_that_was_reported_or_a_newer_one_is_whole(tmp_path):
    clock = random.Random(3)  # noqa: S311  # no secret depends on it
    number = 0
    for _ in range(4):
        command = [sys.executable, saving.__file__, tmp_path, str(number + 1), "0", "endlessly"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            first = process.stdout.readline()
            time.sleep(clock.uniform(0, 0.1))
            process.kill()
            reported = int([first, *process.stdout.read().splitlines()][-1])
        number, _ = load_whole(tmp_path)
        assert number in (reported, reported + 1)


def test_everything_is_on_the_disk_before_it_has_a_name_and_has_a_name_before_anything_is_removed(tmp_path, disk_calls):
    save(tmp_path, 1)
    save(tmp_path, 2)
    disk_calls.clear()
    path = save(tmp_path, 3)
    staged = disk_calls[0][1].rpartition("/")[0]
    assert staged.startswith(f"{tmp_path}/.tmp-00000003-")
    files = ("world_model.safetensors", "policy.safetensors", "state.json", "MANIFEST.json")
    assert disk_calls[:-1] == [
        *(("fsync", f"{staged}/{name}", (path / name).stat().st_size) for name in files),
        ("fsync", staged, None),
        ("rename", staged, str(path)),
        ("fsync", str(tmp_path), None),
    ]
    what, removed, target = disk_calls[-1]
    assert (what, removed) == ("rename", f"{tmp_path}/00000001")
    assert target.startswith(f"{tmp_path}/.tmp-00000001-")


@pytest.mark.parametrize("call", ["fsync", "rename", "unlink", "rmdir"])
@pytest.mark.parametrize("number", [2, 3])
def test_whichever_call_fails_a_whole_checkpoint_is_left(tmp_path, monkeypatch, call, number):
    """Makes the n-th call fail for every n there is; number 2 replaces the one that is there."""
    real = getattr(os, call)
    for nth in range(100):
        directory = tmp_path / str(nth)
        save(directory, 1)
        save(directory, 2)
        calls = []

        def fail_once(*arguments, nth=nth, calls=calls, **keywords):
            calls.append(arguments)
            if len(calls) == nth + 1:
                raise OSError(errno.EIO, "Input/output error")
            return real(*arguments, **keywords)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail_once)
            failure = failure_of(save, directory, number, version=1)
        if failure is None:
            break
        assert "Input/output error" in failure
        assert load_whole(directory) in ((2, 0), (number, 1))
        save(directory, number, version=2)
        assert load_whole(directory) == (number, 2)
        assert len(names(directory)) == 2
    assert 1 <= nth < 99


def test_a_full_disk_stops_cleanly_at_whatever_point_it_is_full(small_disk):
    directory = small_disk.path
    save(directory, 1)
    num_failures = 0
    for room in range(0, 60_000, 1024):
        with small_disk.room(room):
            failure = failure_of(save, directory, 2)
        if failure is None:
            break
        num_failures += 1
        assert "00000002 could not be written" in failure
        assert int(re.search(r"([\d,]+) bytes were needed", failure)[1].replace(",", "")) > 700 * 4
        assert "The last checkpoint is intact" in failure
        assert load_whole(directory) == (1, 0)
        assert names(directory) == ["00000001"]
    assert num_failures >= 3
    assert load_whole(directory) == (2, 0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_weights_that_are_not_finite_are_never_saved(tmp_path, bad, dtype):
    save(tmp_path, 1)
    tensors, state = contents(2)
    tensors["policy"]["bias"] = tensors["policy"]["bias"].to(dtype)
    tensors["policy"]["bias"][2, 1] = bad
    with pytest.raises(NonFiniteWeights, match=r"bias of policy has 1 of 15 values"):
        save_checkpoint(tmp_path, 2, tensors, state)
    assert names(tmp_path) == ["00000001"]
    assert load_whole(tmp_path) == (1, 0)


def test_a_state_that_is_not_json_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(NotStorable):
        save_checkpoint(tmp_path / "checkpoints", 1, {}, {"loss": float("nan")})
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("name", ["../policy", "a/b", ".hidden", "", "a b"])
def test_a_file_of_tensors_cannot_be_called_anything(tmp_path, name):
    with pytest.raises(AssertionError):
        save_checkpoint(tmp_path, 1, {name: {}}, {})
    assert names(tmp_path) == []


def damage(path):
    (path / "policy.safetensors").write_bytes(b"damaged")


def test_a_run_that_went_back_saves_again_over_the_damaged_ones(tmp_path):
    for number in (1, 2, 3, 4):
        save(tmp_path, number, keep=4)
    damage(tmp_path / "00000003")
    damage(tmp_path / "00000004")
    warnings = []
    assert identify(load_checkpoint(tmp_path, warnings.append)) == (2, 0)
    assert ["00000004" in warnings[0], "00000003" in warnings[1], len(warnings)] == [True, True, 2]
    save(tmp_path, 3, version=1)
    assert load_whole(tmp_path) == (3, 1)
    assert names(tmp_path) == ["00000002", "00000003"]


def test_a_damaged_one_does_not_displace_a_sound_one(tmp_path):
    save(tmp_path, 1)
    damage(save(tmp_path, 2))
    save(tmp_path, 3)
    assert names(tmp_path) == ["00000001", "00000003"]


def test_none_usable_is_a_refusal_that_names_every_one_and_changes_nothing(tmp_path):
    for number in (1, 2):
        save(tmp_path, number)
    damage(tmp_path / "00000001")
    (tmp_path / "00000002" / "state.json").unlink()
    (tmp_path / "00000003").touch()
    before = names(tmp_path)
    with pytest.raises(NoUsableCheckpoint) as caught:
        load_checkpoint(tmp_path, lambda _: None)
    for part in ("00000001/policy.safetensors", "00000002/state.json", "00000003", "restore", "start a new run"):
        assert part in str(caught.value)
    assert names(tmp_path) == before
