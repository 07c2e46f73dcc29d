"""The reward path, which holds the event layers, and the heads on pooled features."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from evade.layers import (
    NoisyConv2d,
    NoisyEventInteraction,
    NoisyEventTranslation,
    NoisyEventWeighting,
    NoisyLayer,
)
from evade.vocabulary.variants import EventLayer
from evade.world_models.blocks import UpStage
from evade.world_models.settings import RewardPathConfig

NUM_EVENT_STAGES = 2
"""Event layers are inserted before each of the last 2 up stages (paper, section 4.1: the fifth and the sixth)."""


def build_event_layer(name: EventLayer, channels: int, config: RewardPathConfig) -> NoisyLayer:
    """One event layer by name, with the paper's kernel sizes: 3x3 translation, weighting, 1x1 interaction."""
    classes: dict[EventLayer, Callable[..., NoisyLayer]] = {
        "translation": NoisyEventTranslation,
        "weighting": NoisyEventWeighting,
        "interaction": NoisyEventInteraction,
    }
    return classes[name](channels, sigma_init=config.sigma_init, init=config.event_init)


def build_event_layers(channels: int, config: RewardPathConfig) -> nn.Sequential:
    """All event layers of one stage, by name and in order."""
    return nn.Sequential(OrderedDict((name, build_event_layer(name, channels, config)) for name in config.event_layers))


class RewardPath(nn.Module):
    """A second pass through the last up stages, with event layers before each; only the reward head uses its result.

    The stages' weights are shared with the transition path. If the interaction layer is among the event layers, the
    last stage's kernel is noisy here too (paper, appendix D.1): the sigmas belong to this path; the kernel is shared
    unless `share_last_stage` is False.

    Args:
        config: the event layers and their initial weights and noise.
        stages: the transition path's last up stages; used but not registered as submodules.
        depth: number of all up stages.
    """

    def __init__(self, config: RewardPathConfig, stages: Sequence[UpStage], depth: int) -> None:
        super().__init__()
        first = depth - len(stages)
        self.events = nn.ModuleDict()
        for index, stage in enumerate(stages, start=first):
            channels = stage.convolution.in_channels
            self.events[f"up{index}"] = build_event_layers(channels, config)
        self.last_convolution = None
        if "interaction" in config.event_layers:
            self.last_convolution = NoisyConv2d(
                stages[-1].convolution, sigma_init=config.sigma_init, borrow_weight=config.share_last_stage
            )

    def forward(self, x: Tensor, stages: Sequence[UpStage], skips: Sequence[Tensor], action: Tensor) -> Tensor:
        """From the map where the two paths branch to the reward path's last map.

        Args:
            x: `[B, C, h, w]`, the transition path's map before these stages.
            stages: the up stages given at construction.
            skips: each stage's skip connection, `[B, C_i, H_i, W_i]`.
            action: `[B, action_size]`.

        Returns:
            `[B, hidden_size, H, W]`.
        """
        for events, stage, skip in zip(self.events.values(), stages, skips, strict=True):
            is_last = stage is stages[-1]
            x = stage(events(x), skip, action, self.last_convolution if is_last else None)
        return x


class PooledHead(nn.Module):
    """Global pooling of two maps, one hidden ReLU layer, linear logits; always in the weights' own dtype.

    Args:
        in_channels: channels of both maps together.
        hidden_size: units of the hidden layer.
        num_outputs: number of logits.
        bias: whether the logits have a bias. T2T SimPLe's reward head has none.
        has_max: pool by the maximum too, beside the mean.
    """

    def __init__(
        self, in_channels: int, hidden_size: int, num_outputs: int, *, bias: bool, has_max: bool = False
    ) -> None:
        super().__init__()
        self.has_max = has_max
        self.hidden = nn.Linear(in_channels * (1 + has_max), hidden_size)
        self.activation = nn.ReLU()
        self.output = nn.Linear(hidden_size, num_outputs, bias=bias)

    def forward(self, bottleneck: Tensor, last_map: Tensor) -> Tensor:
        """`[B, C1, h, w]` and `[B, C2, H, W]` to `[B, num_outputs]`."""
        with torch.autocast(last_map.device.type, enabled=False):
            maps = [x.to(self.hidden.weight.dtype) for x in (bottleneck, last_map)]
            pooled = [x.mean(dim=(2, 3)) for x in maps]
            if self.has_max:
                pooled += [x.amax(dim=(2, 3)) for x in maps]
            logits: Tensor = self.output(self.activation(self.hidden(torch.cat(pooled, dim=1))))
        return logits
