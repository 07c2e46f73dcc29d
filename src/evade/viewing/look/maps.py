"""Maps before and after each event layer, under the mean and under a draw, and the sigma of every weight."""

from dataclasses import dataclass

import torch
from torch import Tensor

from evade.errors import LookError
from evade.layers import noisy_layers
from evade.viewing.look.draws import MEAN, Posterior

MAX_CHANNELS = 6
"""Channels shown of one layer."""

HEAT_WIDTH = 64
"""Columns of a heat map of weights that have no rows of their own."""


@dataclass(frozen=True)
class LayerMaps:
    """One layer for one observation and action, the channels that the draw changes most first."""

    layer: str
    channels: tuple[int, ...]
    """Numbers of the channels shown, n of them."""
    num_channels: int
    changes: tuple[float, ...]
    """Root mean square over cells of draw minus mean after the layer, for each channel shown."""
    before: Tensor
    """float32 `[n, H, W]`, under the mean."""
    mean: Tensor
    """float32 `[n, H', W']`, after the layer."""
    draw: Tensor
    """float32 `[n, H', W']`, after the layer, under the draw."""


def list_layers(posterior: Posterior) -> tuple[str, ...]:
    """Names of all noisy layers of the model, in the order of the computation."""
    return tuple(noisy_layers(posterior.model))


@torch.no_grad()
def compute_maps(posterior: Posterior, observation: Tensor, action: int, layer: str, draw: str) -> LayerMaps:
    """Maps of a layer.

    Args:
        posterior: of the model.
        observation: uint8 `[K, C, H, W]`.
        action: taken at the observation.
        layer: one of `list_layers`; one without maps, such as the event prior, is refused.
        draw: a draw's name.
    """
    inputs = observation.unsqueeze(0), torch.tensor([action])
    with posterior.using(MEAN):
        mean_maps = posterior.model.feature_maps(*inputs)
    if f"{layer}.after" not in mean_maps:
        raise LookError(f"{layer[:80]!r} has no maps: choose a layer with maps.")
    with posterior.using(draw):
        after = posterior.model.feature_maps(*inputs)[f"{layer}.after"][0].float()
    mean = mean_maps[f"{layer}.after"][0].float()
    before = mean_maps[f"{layer}.before"][0].float()
    changes = (after - mean).square().mean((1, 2)).sqrt()
    # Where the draw changes nothing, what the layer itself does decides.
    own = (mean - before).square().mean((1, 2)).sqrt() if mean.shape == before.shape else mean.square().mean((1, 2))
    keys = list(zip(changes.tolist(), own.tolist(), strict=True))
    order = sorted(range(len(mean)), key=lambda channel: keys[channel], reverse=True)[:MAX_CHANNELS]
    return LayerMaps(
        layer=layer,
        channels=tuple(order),
        num_channels=len(mean),
        changes=tuple(changes[order].tolist()),
        # A layer may have fewer channels before than after it.
        before=before[[channel for channel in order if channel < len(before)]],
        mean=mean[order],
        draw=after[order],
    )


@torch.no_grad()
def sigma_heat(posterior: Posterior, layer: str) -> Tensor:
    """The sigma of each weight of a layer as a matrix, float32; cells beyond the last weight are NaN."""
    layers = noisy_layers(posterior.model)
    if layer not in layers:
        raise LookError(f"Unknown layer {layer[:80]!r}: choose one of {', '.join(layers) or 'none'}.")
    sigma = layers[layer].sigma.detach().float().abs()
    if sigma.dim() == 4:
        return sigma.permute(0, 2, 1, 3).flatten(2).flatten(0, 1)
    if sigma.dim() == 2:
        return sigma.T
    width = min(HEAT_WIDTH, sigma.numel())
    padding = -sigma.numel() % width
    return torch.cat([sigma.flatten(), sigma.new_full((padding,), torch.nan)]).view(-1, width)
