"""Chunks of the replay as checkpoints list them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from evade.checks import fits_type
from evade.errors import ReplayCorrupt


@dataclass(frozen=True)
class ChunkRecord:
    """A chunk on disk, as named in checkpoints."""

    name: str
    sha256: str
    num_steps: int


def chunk_name(number: int) -> str:
    """The file name of a chunk, counted from 0."""
    return f"chunk-{number:05d}.safetensors.zst"


def read_records(values: Any) -> Iterator[ChunkRecord]:
    """The chunks that a checkpoint lists, after a check of types."""
    kinds = get_type_hints(ChunkRecord)
    for value in values if isinstance(values, list) else [values]:
        is_record = isinstance(value, dict) and value.keys() == kinds.keys()
        if not is_record or not all(fits_type(value[name], kind) for name, kind in kinds.items()):
            raise ReplayCorrupt(f"The checkpoint lists {value!r:.100}, which is not the record of a chunk.")
        yield ChunkRecord(**value)
