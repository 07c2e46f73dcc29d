"""The actor-critic network: convolutions, one dense layer, an action head and a value head."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.errors import ShapeError
from evade.policies.object_convolution import can_convolve_objects, convolve_objects
from evade.policies.settings import ActorCriticConfig
from evade.records import PolicyOutput

ORTHOGONAL_GAIN = 1.5
"""T2T SimPLe's gain of every initial kernel, both heads included: the initial policy is not uniform."""

ITERATION_EMBEDDING_SIZE = 32
"""Columns of T2T SimPLe's iteration embedding."""


class SameConv2d(nn.Conv2d):
    """A strided convolution with TensorFlow's SAME padding: an odd zero is added at the bottom or right."""

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C_in, H, W]` to `[B, C_out, ceil(H / stride), ceil(W / stride)]`."""
        top, bottom = self._padding(x.shape[2], 0)
        left, right = self._padding(x.shape[3], 1)
        return super().forward(F.pad(x, (left, right, top, bottom)))

    def _padding(self, size: int, axis: int) -> tuple[int, int]:
        stride, kernel = self.stride[axis], self.kernel_size[axis]
        total = max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)
        return total // 2, total - total // 2


class ActorCritic(nn.Module):
    """T2T SimPLe's policy and value network, or a smaller one for MinAtar, depending on the settings.

    Args:
        config: convolutions and hidden units.
        num_frames: number K of an observation's last frames it uses.
        in_channels: channels of these frames together, K * C.
        levels: values one channel of one cell can take; the input is scaled to [0, 1].
        num_features: rows * columns * channels of the last convolution's output.
        num_actions: size of the action set.
    """

    def __init__(
        self,
        config: ActorCriticConfig,
        *,
        num_frames: int,
        in_channels: int,
        levels: int,
        num_features: int,
        num_actions: int,
    ) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.in_channels, self.levels, self.precision = in_channels, levels, config.precision
        widths = (in_channels, *config.filters)
        self.convolutions = nn.ModuleList(
            SameConv2d(widths[i], widths[i + 1], config.kernel_size, config.stride) for i in range(len(widths) - 1)
        )
        self.iteration_embedding: nn.Parameter | None = None
        if config.num_iteration_embeddings:
            rows = torch.empty(config.num_iteration_embeddings, ITERATION_EMBEDDING_SIZE)
            self.iteration_embedding = nn.Parameter(nn.init.orthogonal_(rows, ORTHOGONAL_GAIN))
            num_features += ITERATION_EMBEDDING_SIZE
        self.dense = nn.Linear(num_features, config.hidden_size)
        self.action_head = nn.Linear(config.hidden_size, num_actions)
        self.value_head = nn.Linear(config.hidden_size, 1)
        for layer in (*self.convolutions, self.dense, self.action_head, self.value_head):
            nn.init.orthogonal_(layer.weight, ORTHOGONAL_GAIN)
            nn.init.zeros_(layer.bias)
        # In bfloat16 the loop, which is float32, would round differently from the dense convolution.
        self._has_loop = levels == 2 and config.precision == "float32" and can_convolve_objects()
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it

    def forward(self, observation: Tensor, iteration: Tensor | None = None) -> PolicyOutput:
        """Action logits and value.

        Args:
            observation: uint8 (or bool) `[B, K, C, H, W]`; only the last `num_frames` frames are used.
            iteration: int64 `[B]`, rows of the iteration embedding if the network has one; 0 ("unknown") if None.
        """
        with self._autocast(observation):
            features = self._convolve(observation)
            if self.iteration_embedding is not None:
                rows = features.new_zeros(len(features), dtype=torch.long) if iteration is None else iteration
                features = torch.cat([features, F.embedding(rows, self.iteration_embedding)], dim=1)
            hidden = F.relu(self.dense(features)).to(self.dense.weight.dtype)
        return PolicyOutput(self.action_head(hidden), self.value_head(hidden).squeeze(1))

    def _autocast(self, observation: Tensor) -> AbstractContextManager[Any]:
        if self.precision == "bfloat16":
            return torch.autocast(observation.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def _convolve(self, observation: Tensor) -> Tensor:
        """The dense layer's input, `[B, features]`."""
        frames = self._last_frames(observation).flatten(1, 2)
        first, *others = self.convolutions
        weight = self.dense.weight
        if self._has_loop and weight.device.type == "cpu" and weight.dtype == torch.float32:
            x = self._convolve_objects(frames)
        else:
            x = (frames.to(weight.dtype) / (self.levels - 1)).contiguous(memory_format=torch.channels_last)
            x = F.relu(first(x), inplace=True)
        for convolution in others:
            x = F.relu(convolution(x), inplace=True)
        # Rows, columns, channels: T2T SimPLe's order, and that of channels-last memory.
        features = x.permute(0, 2, 3, 1).flatten(1)
        needed = self.dense.in_features - (0 if self.iteration_embedding is None else ITERATION_EMBEDDING_SIZE)
        if features.shape[1] != needed:
            raise ShapeError(
                f"Invalid frames of {observation.shape[3]} x {observation.shape[4]}: must give {needed} features, not "
                f"{features.shape[1]}. Use the frame size this policy was built for."
            )
        return features

    def _convolve_objects(self, frames: Tensor) -> Tensor:
        """The first convolution and its rectifier of binary frames, `[B, F, h, w]` in channels-last memory."""
        first = self.convolutions[0]
        assert isinstance(first, SameConv2d)
        assert first.bias is not None
        (stride, _), (batch, _, height, width) = first.stride, frames.shape
        features = convolve_objects(frames.to(torch.uint8), first.weight, first.bias, stride)
        x: Tensor = features.view(batch, math.ceil(height / stride), math.ceil(width / stride), first.out_channels)
        return x.permute(0, 3, 1, 2)

    def _last_frames(self, observation: Tensor) -> Tensor:
        """The frames that the network uses."""
        channels = self.in_channels // self.num_frames
        if observation.dim() != 5 or observation.shape[1] < self.num_frames or observation.shape[2] != channels:
            raise ShapeError(
                f"Invalid observation of shape {tuple(observation.shape)}: must be [batch, frames, channels, height, "
                f"width] with at least {self.num_frames} frames of {channels} channels."
            )
        return observation[:, -self.num_frames :]
