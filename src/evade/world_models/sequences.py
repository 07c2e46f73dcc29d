"""Sequences made of single transitions."""

import torch
from torch import Tensor

from evade.records import Sequences, Transitions


def as_sequences(batch: Transitions, target_frames: int = 1) -> Sequences:
    """Sequences of K + T frames: earlier actions are no-ops without reward, the transition's step is made T times.

    Args:
        batch: single transitions.
        target_frames: T; above 1 only for measuring speed.
    """
    past = torch.zeros_like(batch.action).unsqueeze(1).expand(-1, batch.observation.shape[1] - 1)

    def extend(values: Tensor) -> Tensor:
        return torch.cat([past.to(values.dtype), values.unsqueeze(1).expand(-1, target_frames)], 1)

    return Sequences(
        frame=torch.cat([batch.observation, batch.next_frame.unsqueeze(1).repeat_interleave(target_frames, 1)], 1),
        action=extend(batch.action),
        reward=extend(batch.reward),
        terminated=extend(batch.terminated),
    )
