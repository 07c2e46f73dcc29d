"""What a checkpoint's folder should hold, and whether it does. No torch here.

`MANIFEST.json` lists the size and SHA-256 of every file beside it. Nothing of a checkpoint is decoded before all of it
was found unchanged, and no name in a manifest leads out of its folder.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from evade.checks import fits_type
from evade.errors import NotStorable, UnreadableFile
from evade.guarded import read_regular
from evade.runs.files import decode_json, encode_json

FORMAT = 1
"""Grows when older programs could misread what newer ones write."""

MANIFEST = "MANIFEST.json"
STATE = "state.json"
TENSORS = ".safetensors"

LARGEST_MANIFEST = 1 << 20
"""Bytes; a real one has about a hundred for each file."""

UNBOUNDED = 1 << 62
"""For who does not know how large a checkpoint may be."""

_TENSOR_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\.safetensors")


def is_tensor_file(name: str) -> bool:
    """Whether a file of tensors may be called so."""
    return _TENSOR_FILE.fullmatch(name) is not None


def describe(data: bytes) -> dict[str, Any]:
    """What a manifest says of a file with these bytes."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def encode_manifest(number: int, files: dict[str, dict[str, Any]]) -> bytes:
    """The manifest of checkpoint `number`, whose files are described by name."""
    return encode_json({"format": FORMAT, "number": number, "files": files})


def read_verified(number: int, folder: Path, largest: int = UNBOUNDED) -> dict[str, bytes]:
    """The bytes of every file of checkpoint `number`, `state.json` among them.

    Args:
        number: the checkpoint's.
        folder: the checkpoint's.
        largest: bytes of all its files together that the settings allow.

    Raises:
        UnreadableFile: something is missing, changed, of an unknown format or not a plain file; the message names it.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UnreadableFile(f"{folder} is not a plain folder.")
    entries = _read_manifest(number, folder)
    sizes = {name: _listed_size(folder / name, entry) for name, entry in entries.items()}
    if sum(sizes.values()) > largest:
        raise UnreadableFile(f"{folder} has {sum(sizes.values()):,} bytes; its settings allow at most {largest:,}.")
    return {name: _read_listed(folder / name, entries[name], size) for name, size in sizes.items()}


def is_sound(number: int, folder: Path) -> bool:
    """Whether `read_verified` would find checkpoint `number` complete and unchanged."""
    try:
        read_verified(number, folder)
    except UnreadableFile:
        return False
    return True


def _read_manifest(number: int, folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    data = read_regular(path, LARGEST_MANIFEST)
    try:
        manifest = decode_json(data)
        # Even a change that JSON does not notice, such as another blank, is damage.
        is_as_written = encode_json(manifest) == data
    except (ValueError, NotStorable) as error:
        raise UnreadableFile(f"{path} is damaged ({error}).") from None
    if not is_as_written or not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise UnreadableFile(f"{path} is not as it was written.")
    if manifest.get("format") != FORMAT:
        raise UnreadableFile(f"{path} has format {manifest.get('format')!r}; this version reads format {FORMAT}.")
    if manifest.get("number") != number:
        raise UnreadableFile(f"{path} belongs to checkpoint {manifest.get('number')!r}, not {number}.")
    _check_names(path, manifest["files"])
    return dict(manifest["files"])


def _check_names(path: Path, names: dict[str, Any]) -> None:
    if STATE not in names:
        raise UnreadableFile(f"{path} does not list {STATE}.")
    for name in names:
        if name != STATE and not is_tensor_file(name):
            raise UnreadableFile(f"{path} lists {name!r}, which no file of a checkpoint is called.")


def _listed_size(path: Path, entry: Any) -> int:
    size: Any = entry.get("size") if isinstance(entry, dict) else None
    if not fits_type(size, int) or size < 0:
        raise UnreadableFile(f"{path} is not described by its manifest.")
    return int(size)


def _read_listed(path: Path, entry: Any, size: int) -> bytes:
    data = read_regular(path, size)
    if describe(data) != entry:
        raise UnreadableFile(f"{path} is not what was saved: its size or SHA-256 is not the manifest's.")
    return data
