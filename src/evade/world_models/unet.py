"""SimPLe's U-net: from an input and an action to a small map, the bottleneck, and back to features of each cell."""

from typing import NamedTuple

from torch import Tensor, nn

from evade.world_models.blocks import (
    ActionInjection,
    CellLinear,
    DownStage,
    LocalLayer,
    MiddleNet,
    PositionSignal,
    Standardise,
    UpStage,
)
from evade.world_models.settings import FrameNetworkConfig


class Encoded(NamedTuple):
    """What the down stages make of an input and an action."""

    bottleneck: Tensor
    """`[B, C, h, w]`, with the action in it."""
    skips: list[Tensor]
    """The input of each down stage, the last one's first."""
    action: Tensor
    """The embedded action, `[B, hidden_size]`."""


class UNet(nn.Module):
    """Down stages, an action at the bottleneck, a middle network, and up stages with skip connections.

    Works for any height and width; odd ones are padded and cropped.

    Args:
        config: sizes, activation and dropout.
        in_channels: channels of the input.
    """

    config: FrameNetworkConfig

    def __init__(self, config: FrameNetworkConfig, in_channels: int) -> None:
        super().__init__()
        self.config = config
        size, depth = config.hidden_size, config.depth
        widths = [size * 2 ** min(stage, config.num_doublings) for stage in range(depth + 1)]
        bottleneck = self.bottleneck_channels = widths[-1]

        self.standardise = Standardise() if config.standardise else nn.Identity()
        self.embedding = CellLinear(in_channels, size)
        self.position = PositionSignal()
        self.local = nn.ModuleList(LocalLayer(size, size, config.activation) for _ in range(config.num_local_layers))
        self.down = nn.ModuleList(
            DownStage(widths[i], widths[i + 1], config.activation, config.fit.dropout) for i in range(depth)
        )
        self.injection = ActionInjection(size, bottleneck)
        self.middle = MiddleNet(bottleneck, config.num_middle_layers, config.activation, config.fit.middle_dropout)
        self.up = nn.ModuleList(
            UpStage(widths[i + 1], widths[i], size, config.activation, config.fit.dropout)
            for i in reversed(range(depth))
        )

    def _embed(self, stacked: Tensor, context: Tensor | None = None) -> Tensor:
        """The first map, `[B, hidden_size, H, W]`.

        Args:
            stacked: the standardised input, `[B, in_channels, H, W]`.
            context: `[B, hidden_size]`, added to every cell.
        """
        x: Tensor = self.embedding(stacked.permute(0, 2, 3, 1))
        if context is not None:
            x = x + context[:, None, None]
        positioned: Tensor = self.position(x.permute(0, 3, 1, 2))
        return positioned

    def _encode(self, x: Tensor, embedded_action: Tensor) -> Encoded:
        """From the first map and the embedded action, `[B, hidden_size]`, to the bottleneck."""
        for layer in self.local:
            x = layer(x, embedded_action)
        skips: list[Tensor] = []
        for stage in self.down:
            skips.insert(0, x)
            x = stage(x)
        return Encoded(self.injection(x, embedded_action), skips, embedded_action)

    def _decode_features(self, encoded: Encoded) -> Tensor:
        """From the bottleneck to the frame head's features alone."""
        x: Tensor = self.middle(encoded.bottleneck)
        for stage, skip in zip(self.up, encoded.skips, strict=True):
            x = stage(x, skip, encoded.action)
        return x
