"""How far dreams in another number type are from dreams in float32."""

import copy
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from evade.records import Prediction
from evade.world_models.deterministic import DeterministicWorldModel


class PredictionGap(NamedTuple):
    """How two predictions for the same observations and actions differ."""

    pixels: float
    """Share of values of all frames that differ."""
    frames: float
    """Share of frames with at least one such value."""
    largest_step: int
    """The largest difference of one value, in levels."""
    rewards: float
    """Share of rewards that differ."""
    ends: float
    """Share of ends that differ."""


def compare_predictions(one: Prediction, other: Prediction) -> PredictionGap:
    """What a dream would notice of the difference."""
    step = (one.frame.short() - other.frame.short()).abs()
    return PredictionGap(
        pixels=_share(step > 0),
        frames=_share((step > 0).flatten(1).any(1)),
        largest_step=int(step.max()),
        rewards=_share(one.reward != other.reward),
        ends=_share(one.terminated != other.terminated),
    )


def _share(differs: Tensor) -> float:
    return differs.float().mean().item()


def predict_with(
    model: DeterministicWorldModel,
    precision: Literal["float32", "bfloat16"],
    observation: Tensor,
    action: Tensor,
    batch_size: int = 16,
) -> Prediction:
    """What the same weights, and the same held draw, predict in a number type; the model stays as it is.

    Args:
        model: in evaluation mode, with a draw held or the mean in use.
        precision: as `WorldModelConfig.precision`.
        observation: uint8 `[N, K, C, H, W]`.
        action: int64 `[N]`.
        batch_size: observations predicted at a time.
    """
    twin = copy.deepcopy(model)
    twin.config = replace(model.config, precision=precision)
    parts = [twin.predict(*part) for part in zip(observation.split(batch_size), action.split(batch_size), strict=True)]  # type: ignore[no-untyped-call]
    frame, reward, terminated = (torch.cat(field) for field in zip(*(part[:3] for part in parts), strict=True))
    return Prediction(frame, reward, terminated)
