"""What a checkpoint's folder should hold, and whether it does. No torch here.

`MANIFEST.json` lists the size and SHA-256 of every file beside it. Nothing of a checkpoint is decoded before all of it
was found unchanged, and no name in a manifest leads out of its folder.
"""

import hashlib
import re
import stat
from pathlib import Path
from typing import Any

from evade.errors import NotStorable, UnreadableFile
from evade.runs.files import decode_json, encode_json

FORMAT = 1
"""Grows when older programs could misread what newer ones write."""

MANIFEST = "MANIFEST.json"
STATE = "state.json"
TENSORS = ".safetensors"

LARGEST_MANIFEST = 1 << 20
"""Bytes; a real one has about a hundred for each file."""

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


def read_verified(number: int, folder: Path) -> dict[str, bytes]:
    """The bytes of every file of checkpoint `number`, `state.json` among them.

    Raises:
        UnreadableFile: something is missing, changed, of an unknown format or not a plain file; the message names it.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise UnreadableFile(f"{folder} is not a plain folder.")
    return {name: _read_listed(folder / name, entry) for name, entry in _read_manifest(number, folder).items()}


def is_sound(number: int, folder: Path) -> bool:
    """Whether `read_verified` would find checkpoint `number` complete and unchanged."""
    try:
        read_verified(number, folder)
    except UnreadableFile:
        return False
    return True


def _read_manifest(number: int, folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    data = _read_plain_file(path, LARGEST_MANIFEST)
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


def _read_listed(path: Path, entry: Any) -> bytes:
    size = entry.get("size") if isinstance(entry, dict) else None
    if not isinstance(size, int):
        raise UnreadableFile(f"{path} is not described by its manifest.")
    data = _read_plain_file(path, size)
    if describe(data) != entry:
        raise UnreadableFile(f"{path} is not what was saved: its size or SHA-256 is not the manifest's.")
    return data


def _read_plain_file(path: Path, largest: int) -> bytes:
    """A file's bytes; a link, a device or a file of more than `largest` bytes is not even opened."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(f"{path} is not a plain file.")
        if status.st_size > largest:
            raise UnreadableFile(f"{path} has {status.st_size:,} bytes where at most {largest:,} are expected.")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error.strerror or error}).") from None
