"""Real experience: immutable compressed chunks on disk, uniform sampling in memory."""

from evade.replay.chunk import Chunk
from evade.replay.store import ChunkRecord, Replay

__all__ = ["Chunk", "ChunkRecord", "Replay"]
