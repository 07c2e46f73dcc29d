"""Checks of what enters a world model."""

import torch
from torch import Tensor

from evade.errors import ShapeError


def check_inputs(observation: Tensor, action: Tensor, num_frames: int | None, channels: int) -> None:
    """Refuse observations and actions of other shapes or types.

    Args:
        observation: must be uint8 or bool `[B, K, C, H, W]`.
        action: must be `[B]`.
        num_frames: K; None for any number of frames.
        channels: C.
    """
    frames = observation.shape[1] if num_frames is None and observation.dim() == 5 else num_frames
    if observation.dim() != 5 or observation.shape[1:3] != (frames, channels):
        raise ShapeError(
            f"Invalid observation of shape {tuple(observation.shape)}: must be [batch, {frames or 'any'} frames, "
            f"{channels} channels, height, width]."
        )
    if observation.dtype not in (torch.uint8, torch.bool):
        raise ShapeError(f"Invalid observation of dtype {observation.dtype}: must be torch.uint8 (or torch.bool).")
    if action.shape != observation.shape[:1]:
        raise ShapeError(
            f"Invalid actions of shape {tuple(action.shape)}: must be [{observation.shape[0]}], one for each "
            f"observation."
        )
