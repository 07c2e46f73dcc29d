"""The two documents of a run, config.json and status.json: written with a checksum, checked where they are read.

No torch here. A document of an earlier version has no checksum and is read without one. Whoever can write the folder
can also write a matching checksum: it finds damage and careless edits, not forgery.
"""

import hashlib
import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from evade.checks import fits_type
from evade.errors import RunError, UnreadableFile
from evade.runs.files import encode_json, read_json, write_json
from evade.runs.folder import RunFolder
from evade.runs.journal import Extent

CHECKSUM = "sha256"
"""The last key of a document: the SHA-256 of all that is before it."""

WORDS = ("running", "stopped", "failed", "finished")
"""What a run's status can be."""

CONFIG: dict[str, Any] = {
    "settings": dict,
    "fingerprint": str,
    "preprocessing_version": int,
    "evaluation_version": int,
}
"""What config.json must have, and its types."""

IDENTITY: dict[str, Any] = {"preset": str, "variant": str, "game": str, "seed": int}
"""What the settings must have to place a run in tables."""

STANDING: dict[str, Any] = {"iteration": int, "iterations": int, "phase": str, "real_steps": int}
"""Where a run stands; absent before its first checkpoint."""

SCORE: dict[str, Any] = {"mean": float, "standard_error": float, "episodes": int, "random": float}
"""The score of a finished run."""

STATUS: dict[str, Any] = STANDING | {"status": str, "updated": float, "error": str, "score": dict, "journals": dict}


class ConfigDocument(NamedTuple):
    """What config.json says."""

    settings: dict[str, Any]
    """`evade.config.from_document` converts them to a `RunConfig`."""
    fingerprint: str
    preprocessing_version: int
    evaluation_version: int


class StatusDocument(NamedTuple):
    """What status.json says; all None or empty if there is none yet."""

    word: str
    """One of `WORDS`; `new` if there is no status.json yet."""
    standing: dict[str, Any]
    """Some of `STANDING`."""
    score: dict[str, float] | None
    journals: dict[str, Extent]
    """How far each journal was written, and the hash of that part."""


def write_config(folder: RunFolder, config: ConfigDocument) -> None:
    """Write config.json."""
    _write(folder, "config.json", config._asdict())


def write_status(folder: RunFolder, word: str, standing: Mapping[str, Any], **more: Any) -> None:
    """Say in one small file where the run stands: `running`, `stopped`, `failed` or `finished`."""
    assert word in WORDS
    _write(folder, "status.json", {"status": word, "updated": time.time(), **standing, **more})


def read_config(folder: RunFolder) -> ConfigDocument:
    """Read and check config.json.

    Raises:
        RunError: this is not a run, or another version or program wrote it.
        UnreadableFile: it is damaged.
    """
    if not folder.has(folder.config):
        raise RunError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    document = _read(folder, "config.json", CONFIG)
    where = str(folder.config)
    _require(where, document, CONFIG)
    _require(where, document["settings"], IDENTITY, "settings.")
    return ConfigDocument(**{name: document[name] for name in CONFIG})


def read_status(folder: RunFolder) -> StatusDocument:
    """Read and check status.json.

    Raises:
        RunError: another version or program wrote it.
        UnreadableFile: it is damaged.
    """
    if not folder.has(folder.status):
        if folder.has(folder.checkpoints) and any(folder.checkpoints.iterdir()):
            raise UnreadableFile(f"{folder.status} is missing, although the run has checkpoints: resume the run.")
        return StatusDocument("new", {}, None, {})
    document, where = _read(folder, "status.json", STATUS), str(folder.status)
    _require(where, document, {"status": str})
    _require(where, document, {name: kind for name, kind in STATUS.items() if name in document})
    if document["status"] not in WORDS:
        raise RunError(f"{where} has status = {document['status']!r:.50}: must be one of {', '.join(WORDS)}.")
    score = document.get("score")
    if score:
        _require(where, score, SCORE, "score.")
    journals = {name: Extent.read(value, f"{where}, journals.{name}") for name, value in _journals(document).items()}
    standing = {name: document[name] for name in STANDING if name in document}
    return StatusDocument(document["status"], standing, score or None, journals)


def _journals(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document.get("journals", {})
    return found


def _write(folder: RunFolder, name: str, document: dict[str, Any]) -> None:
    write_json(folder.path / name, document | {CHECKSUM: checksum(document)})


def _read(folder: RunFolder, name: str, known: Collection[str]) -> dict[str, Any]:
    path = folder.path / name
    document = read_json(path)
    if not isinstance(document, dict):
        raise RunError(_foreign(f"{path} has no {', '.join(known)}"))
    written = document.pop(CHECKSUM, None)
    # Without a checksum only the keys of earlier versions are accepted, so that damage to its name is found too.
    is_intact = not document.keys() - set(known) if written is None else written == checksum(document)
    if not is_intact and written is None:
        foreign = sorted(document.keys() - set(known))
        raise RunError(_foreign(f"{path} has {', '.join(foreign):.100}"))
    if not is_intact:
        raise UnreadableFile(
            f"{path} was changed after it was written: its checksum differs. Restore it from a copy; settings are "
            f"changed by flags, never in this file."
        )
    return document


def checksum(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document that has no checksum yet, in hexadecimal."""
    return hashlib.sha256(encode_json(document, indent=None)).hexdigest()


def _require(where: str, document: Any, kinds: Mapping[str, Any], section: str = "") -> None:
    """Raise a `RunError` that lists what a document lacks, or the first value of another type."""
    missing = [name for name in kinds if not isinstance(document, dict) or name not in document]
    if missing:
        raise RunError(_foreign(f"{where} has no {', '.join(section + name for name in missing)}"))
    for name, kind in kinds.items():
        if not fits_type(document[name], kind):
            raise RunError(_foreign(f"{where} has {section}{name} = {document[name]!r:.50}, not {kind.__name__}"))


def _foreign(finding: str) -> str:
    return f"{finding}: this version of evade did not write it. Leave this run out."
