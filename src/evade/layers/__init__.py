"""The three noisy event layers of EVaDE as drop-in modules for any PyTorch network.

This folder imports torch (and safetensors, to save a draw) but nothing else of the package.
"""

from evade.layers.borrowed import NoisyConv2d
from evade.layers.errors import LayerError
from evade.layers.interaction import NoisyEventInteraction
from evade.layers.noise import Init, Mode, NoisyLayer
from evade.layers.posterior import (
    Draw,
    current_draw,
    draw,
    hold,
    kl_divergence,
    mean_draw,
    mean_sigma,
    noisy_layers,
    resample,
    use_mean,
)
from evade.layers.translation import NoisyEventTranslation
from evade.layers.weighting import NoisyEventWeighting

__all__ = [
    "Draw",
    "Init",
    "LayerError",
    "Mode",
    "NoisyConv2d",
    "NoisyEventInteraction",
    "NoisyEventTranslation",
    "NoisyEventWeighting",
    "NoisyLayer",
    "current_draw",
    "draw",
    "hold",
    "kl_divergence",
    "mean_draw",
    "mean_sigma",
    "noisy_layers",
    "resample",
    "use_mean",
]
