"""Checkpoints: whole-or-nothing folders whose every byte is checked before it is used.

A checkpoint is a folder of safetensors files, `state.json`, and `MANIFEST.json` with the size and SHA-256 of each. It
gets its final name by one rename after everything in it is on the disk. The newest is found by looking, so there is no
pointer that could be wrong.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from evade.errors import JournalDamaged, NonFiniteWeights, NoUsableCheckpoint, UnreadableFile
from evade.runs.failpoints import reach
from evade.runs.files import (
    TEMPORARY,
    decode_json,
    encode_json,
    make_folder,
    remove_leftovers,
    removed_on_failure,
    storage_errors,
    sync_folder,
    write_durably,
)
from evade.runs.manifest import (
    MANIFEST,
    STATE,
    TENSORS,
    UNBOUNDED,
    describe,
    encode_manifest,
    is_sound,
    is_tensor_file,
    read_verified,
)

_FOLDER = re.compile(r"([0-9]{8,})(-replaced-[0-9a-f]{32})?")


@dataclass(frozen=True)
class Checkpoint:
    """What a run had saved."""

    number: int
    """The number it was saved under."""
    path: Path
    """Its folder."""
    tensors: dict[str, dict[str, Tensor]]
    """Tensors by file and name, on the CPU, contiguous."""
    state: dict[str, Any]
    """Everything else; tuples have become lists."""


def save_checkpoint(
    directory: Path,
    number: int,
    tensors: Mapping[str, Mapping[str, Tensor]],
    state: Mapping[str, Any],
    *,
    keep: int = 2,
) -> Path:
    """Publish a checkpoint whole or not at all, then remove those no longer needed.

    It becomes the newest: checkpoints with a higher number, which a resumed run has skipped as damaged, go too.
    Tensors are stored as contiguous copies; those that share memory come back as separate ones with equal values.

    Args:
        directory: where checkpoints live; made if missing.
        number: grows from save to save; the same number again replaces what it held.
        tensors: by file, then by name within it. A file's name has only letters, digits, `_` and `-`.
        state: everything else; JSON values with string keys.
        keep: how many checkpoints to leave, this one included.

    Returns:
        The checkpoint's folder.

    Raises:
        NonFiniteWeights: a tensor holds NaN or infinity; nothing was written.
        NotStorable: the state is not JSON; nothing was written.
        StorageError: the disk is full or fails; the checkpoints before are as they were.
    """
    assert number >= 0
    assert keep >= 1
    assert all(is_tensor_file(name + TENSORS) for name in tensors), sorted(tensors)
    _check_finite(tensors)
    encoded_state = encode_json(dict(state))
    path = directory / f"{number:08d}"
    staged = directory / f"{TEMPORARY}{path.name}-{uuid4().hex}"
    num_bytes = len(encoded_state) + sum(tensor.nbytes for group in tensors.values() for tensor in group.values())
    make_folder(directory)
    with storage_errors(path, num_bytes), removed_on_failure(staged):
        reach("save:begin")
        _stage(staged, number, tensors, encoded_state)
        reach("save:before-rename")
        _publish(staged, path)
    with storage_errors(directory, 0):
        _clean(directory, number, keep)
        reach("save:cleaned")
    return path


def load_checkpoint(
    directory: Path,
    warn: Callable[[str], None],
    *,
    largest: int = UNBOUNDED,
    fits: Callable[[Checkpoint], None] = lambda checkpoint: None,
) -> Checkpoint | None:
    """The newest checkpoint that is complete and unchanged, or None if there never was one.

    Args:
        directory: where checkpoints live.
        warn: called with a message for every damaged checkpoint that is skipped.
        largest: bytes of a checkpoint that the settings allow; a larger one counts as damaged.
        fits: raises `UnreadableFile` or `JournalDamaged` for a checkpoint that does not fit the rest of the run.

    Raises:
        NoUsableCheckpoint: there are checkpoints and all of them are damaged.
        UnreadableFile: the directory itself cannot be read.
    """
    try:
        found = _find_checkpoints(directory)
    except OSError as error:
        raise UnreadableFile(f"{directory} cannot be read ({error.strerror}): it should be a folder.") from None
    damages = []
    for number, path in found:
        try:
            checkpoint = _read(number, path, largest)
            fits(checkpoint)
        except (UnreadableFile, JournalDamaged) as error:
            damages.append(str(error))
            warn(f"checkpoint {path} is damaged and skipped: {error}")
        else:
            return checkpoint
    if damages:
        raise NoUsableCheckpoint(
            f"every checkpoint in {directory} is damaged: {' '.join(damages)} Nothing was changed: restore one of "
            f"these folders from a copy, or start a new run in another folder."
        )
    return None


def _check_finite(tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
    found = _find_not_finite(tensors)
    if found is not None:
        raise NonFiniteWeights(
            f"{found}, so nothing was saved. The last checkpoint is intact: resume from it with a smaller learning "
            f"rate."
        )


def _find_not_finite(tensors: Mapping[str, Mapping[str, Tensor]]) -> str | None:
    """What to say of the first tensor that has values that are not finite; None if there is none."""
    for group, members in tensors.items():
        for name, tensor in members.items():
            if (tensor.is_floating_point() or tensor.is_complex()) and not torch.isfinite(tensor).all():
                count = int((~torch.isfinite(tensor)).sum())
                return f"{name} of {group} has {count:,} of {tensor.numel():,} values that are NaN or infinite"
    return None


def _stage(staged: Path, number: int, tensors: Mapping[str, Mapping[str, Tensor]], encoded_state: bytes) -> None:
    """Write everything into a folder that is not read yet, the manifest last."""
    staged.mkdir()
    files: dict[str, dict[str, Any]] = {}

    def write(name: str, data: bytes) -> None:
        write_durably(staged / name, data)
        files[name] = describe(data)

    for group, members in tensors.items():
        write(group + TENSORS, _encode_tensors(members))
        reach("save:tensors")
    write(STATE, encoded_state)
    write_durably(staged / MANIFEST, encode_manifest(number, files))
    reach("save:manifest")
    sync_folder(staged)


def _encode_tensors(members: Mapping[str, Tensor]) -> bytes:
    copies = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in members.items()
    }
    return save(copies)


def _publish(staged: Path, path: Path) -> None:
    """Give the staged folder its name. One that had it before stays readable until the new one is there."""
    if os.path.lexists(path):
        path.rename(path.with_name(f"{path.name}-replaced-{uuid4().hex}"))
        reach("save:set-aside")
    staged.rename(path)
    reach("save:after-rename")
    sync_folder(path.parent)


def _clean(directory: Path, number: int, keep: int) -> None:
    """Remove all but the checkpoint just saved and the `keep - 1` sound ones before it.

    Damaged ones do not count: they must not displace what a run can go back to. A removal is whole or nothing too. A
    folder that holds a file of somebody else stays.
    """
    found = _find_checkpoints(directory)
    older = (path for other, path in found if other < number and is_sound(other, path))
    kept = {directory / f"{number:08d}", *islice(older, keep - 1)}
    for _, path in found:
        if path not in kept and _is_ours(path):
            path.rename(path.with_name(f"{TEMPORARY}{path.name}-{uuid4().hex}"))
    remove_leftovers(directory)


def _is_ours(path: Path) -> bool:
    """Whether this is a folder and everything in it has a name that we give."""
    if path.is_symlink() or not path.is_dir():
        return False
    return all(
        (is_tensor_file(each.name) or each.name in (STATE, MANIFEST)) and not each.is_symlink() and not each.is_dir()
        for each in path.iterdir()
    )


def _find_checkpoints(directory: Path) -> list[tuple[int, Path]]:
    """Numbers and paths, newest first; one that was being replaced follows its replacement."""
    paths = list(directory.iterdir()) if directory.exists() else []
    matches = ((_FOLDER.fullmatch(path.name), path) for path in paths)
    found = [(int(match[1]), match[2] is None, path) for match, path in matches if match]
    return [(number, path) for number, _, path in sorted(found, reverse=True)]


def _read(number: int, path: Path, largest: int) -> Checkpoint:
    """Check and decode one checkpoint; any damage is an `UnreadableFile` that names the file."""
    contents = {name: _decode(path / name, data) for name, data in read_verified(number, path, largest).items()}
    state = contents.pop(STATE)
    if not isinstance(state, dict):
        raise UnreadableFile(f"{path / STATE} does not hold a JSON object.")
    tensors = {name.removesuffix(TENSORS): members for name, members in contents.items()}
    not_finite = _find_not_finite(tensors)
    if not_finite is not None:
        raise UnreadableFile(f"{path} cannot be used: {not_finite}.")
    return Checkpoint(number, path, tensors, state)


def _decode(path: Path, data: bytes) -> Any:
    try:
        return decode_json(data) if path.name == STATE else load(data)
    except (ValueError, KeyError, RuntimeError, SafetensorError) as error:  # KeyError: a format this torch has not
        raise UnreadableFile(f"{path} cannot be decoded ({error}).") from None
