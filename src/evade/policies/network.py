"""The actor-critic network: convolutions, one dense layer, an action head and a value head."""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.errors import ShapeError
from evade.policies.settings import ActorCriticConfig
from evade.records import PolicyOutput

ORTHOGONAL_GAIN = 1.5
"""T2T SimPLe's initial gain of every kernel, both heads included: its first policy is not uniform."""


ITERATION_EMBEDDING_SIZE = 32
"""Columns of T2T SimPLe's table of iterations."""


class SameConv2d(nn.Conv2d):
    """A strided convolution padded as TensorFlow's SAME: ceil(size / stride) outputs, the odd zero at the far end."""

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
    """T2T SimPLe's policy and value network, and by its settings the small one for MinAtar.

    Args:
        config: convolutions and hidden units.
        num_frames: how many of an observation's last frames it sees.
        in_channels: channels of the frames it sees, together.
        levels: values one channel of one cell can take; the input is scaled to [0, 1].
        num_features: cells times channels of the last convolution's output.
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
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it

    def forward(self, observation: Tensor, iteration: Tensor | None = None) -> PolicyOutput:
        """Action logits and value.

        Args:
            observation: uint8 (or bool) `[B, K, C, H, W]`; of more frames than it sees, the last ones count.
            iteration: int64 `[B]`, rows of the iteration table where the network has one; 0, "unknown", if None.
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
        x = self._look(observation).flatten(1, 2).to(self.dense.weight.dtype) / (self.levels - 1)
        x = x.contiguous(memory_format=torch.channels_last)
        for convolution in self.convolutions:
            x = F.relu(convolution(x), inplace=True)
        # Rows, columns, channels: T2T SimPLe's order, and the one channels-last memory already has.
        features = x.permute(0, 2, 3, 1).flatten(1)
        needed = self.dense.in_features - (0 if self.iteration_embedding is None else ITERATION_EMBEDDING_SIZE)
        if features.shape[1] != needed:
            raise ShapeError(
                f"frames of {observation.shape[3]} x {observation.shape[4]} give {features.shape[1]} features, but "
                f"this policy was made for {needed}: use the frame size it was built with."
            )
        return features

    def _look(self, observation: Tensor) -> Tensor:
        """The frames that count."""
        needed = self.in_channels
        if observation.dim() != 5 or needed % observation.shape[2] or needed > observation.shape[1:3].numel():
            raise ShapeError(
                f"the observation has shape {tuple(observation.shape)}, but this policy takes [batch, frames, "
                f"channels, height, width] with {needed} frames x channels."
            )
        return observation[:, -(needed // observation.shape[2]) :]
