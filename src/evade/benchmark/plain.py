"""The same networks and losses without performance optimisations: the baseline of the benchmark.

Eager float32 in PyTorch's default memory format, `[B, C, H, W]` throughout; all logits of a frame are materialised.
The weights are the real networks'.
"""

import math
from copy import deepcopy
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.policies.network import ActorCritic
from evade.records import Logits, Loss, Memory, Noise, PolicyOutput, Prediction, Statistics, Transitions
from evade.world_models.blocks import ActionInjection, CellNorm, DownStage, LocalLayer, UpStage, position_signal
from evade.world_models.deterministic import DeterministicWorldModel
from evade.world_models.heads import NUM_EVENT_STAGES
from evade.world_models.pixel_noise import add_pixel_noise


def to_plain_memory(network: nn.Module) -> None:
    """Convert all parameters and buffers of a network to PyTorch's default memory format, in place."""
    network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]  # torch's stubs lack it


class PlainWorldModel(nn.Module):
    """A world model that computes the same frames, rewards and losses, unoptimised.

    Args:
        model: copied; the copy is `network`.
    """

    def __init__(self, model: DeterministicWorldModel) -> None:
        super().__init__()
        self.network = deepcopy(model)
        to_plain_memory(self.network)
        self._signals: dict[tuple[int, ...], Tensor] = {}

    def forward(self, observation: Tensor, action: Tensor) -> Logits:
        """Logits of the next step: frame `[B, H, W, C, V]`, reward `[B, R]`, end `[B]` or None.

        Of binary cells the first logit is 0 and the second the log-odds, one product as in the real network.
        """
        net = self.network
        embedded_action = net.action_embedding(action)
        x = self._embed(observation)
        for each in net.local:
            layer = cast(LocalLayer, each)
            x = _norm(x + layer.activation(layer.convolution(_inject(x, embedded_action, layer.injection))), layer.norm)
        skips: list[Tensor] = []
        for stage in net.down:
            skips.insert(0, x)
            x = self._down(x, cast(DownStage, stage))
        bottleneck = _inject(x, embedded_action, net.injection)
        stages = [cast(UpStage, stage) for stage in net.up]
        maps = [self._middle(bottleneck)]
        for stage, skip in zip(stages, skips, strict=True):
            maps.append(self._up(maps[-1], skip, embedded_action, stage, stage.convolution))
        reward_map = x = maps[-1]
        if net.reward_path is not None:
            reward_map = maps[-1 - NUM_EVENT_STAGES]
            last = net.reward_path.last_convolution or stages[-1].convolution
            convolutions = [*(stage.convolution for stage in stages[-NUM_EVENT_STAGES:-1]), last]
            paired = zip(
                net.reward_path.events.values(),
                stages[-NUM_EVENT_STAGES:],
                skips[-NUM_EVENT_STAGES:],
                convolutions,
                strict=True,
            )
            for events, stage, skip, convolution in paired:
                reward_map = self._up(events(reward_map), skip, embedded_action, stage, convolution)
        cells, weight, bias = x.permute(0, 2, 3, 1), net.frame_head.weight, net.frame_head.bias
        if net.levels == 2:
            log_odds = F.linear(cells, weight[1::2] - weight[::2], bias[1::2] - bias[::2])
            frame = torch.stack([torch.zeros_like(log_odds), log_odds], -1)
        else:
            flat = F.linear(cells, weight, bias)
            frame = flat.view(*flat.shape[:-1], net.channels, net.levels)
        if net.local_heads is not None:
            is_on = torch.sigmoid(frame[..., 1].detach()).permute(0, 3, 1, 2)
            reward, end = net.local_heads(observation, is_on, embedded_action)
        else:
            assert net.reward_head is not None
            reward = net.reward_head(bottleneck, reward_map)
            end = None if net.end_head is None else net.end_head(bottleneck, x).squeeze(1)
        return Logits(frame, reward, end)

    def compute_loss(self, batch: Transitions) -> Loss:
        """The sum of the clipped cross-entropies; the only metric is the loss."""
        net, config = self.network, self.network.config.fit
        observation = batch.observation
        if self.training and config.pixel_noise > 0:
            observation = add_pixel_noise(observation, config.pixel_noise)
        logits = self(observation, batch.action)
        target = batch.next_frame.permute(0, 2, 3, 1).long()
        frame = F.cross_entropy(logits.frame.flatten(0, -2), target.flatten(), reduction="none")
        reward = F.cross_entropy(logits.reward, batch.reward.long() - net.lowest_reward, reduction="none")
        total = config.frame_loss_weight * F.relu(frame - config.loss_cutoff).mean()
        total = total + F.relu(reward - config.loss_cutoff).mean()
        if logits.end is not None:
            end = F.binary_cross_entropy_with_logits(logits.end, batch.terminated.float(), reduction="none")
            total = total + F.relu(end - config.loss_cutoff).mean()
        return Loss(total, {"loss": total.detach()})

    def observe(self, batch: Transitions) -> None:
        """Passed on to the network."""
        self.network.observe(batch)

    def observe_dreamt(self, batch: Transitions) -> None:
        """Take note of dreamt steps."""
        self.network.observe_dreamt(batch)

    def use_statistics(self, statistics: Statistics) -> None:
        """Ignored: cells are predicted independently."""

    def initial_memory(self, observation: Tensor) -> Memory:
        """Empty: the model has no memory."""
        return ()

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """Empty: the model does not sample."""
        return ()

    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward."""
        return self.network.expected_reward(observation, action)

    def feature_maps(self, observation: Tensor, action: Tensor) -> dict[str, Tensor]:
        """The feature maps of `network`."""
        return self.network.feature_maps(observation, action)

    @torch.no_grad()
    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """The most likely next frame, reward and end."""
        logits = self(observation, action)
        frame = logits.frame.argmax(-1).to(torch.uint8).permute(0, 3, 1, 2).contiguous()
        reward = (logits.reward.argmax(-1) + self.network.lowest_reward).float()
        if self.network.event_prior is not None:
            reward = reward + self.network.event_prior.added_reward(reward, observation[:, -1], action, frame)
        terminated = torch.zeros_like(action, dtype=torch.bool) if logits.end is None else logits.end > 0
        return Prediction(frame, reward, terminated)

    def _embed(self, observation: Tensor) -> Tensor:
        net = self.network
        x = observation[:, -net.seen_frames :].flatten(1, 2).float()
        if net.config.standardise:
            variance, mean = torch.var_mean(x, dim=(2, 3), correction=0, keepdim=True)
            x = (x - mean) / variance.sqrt().clamp_min(1 / math.sqrt(x.shape[2] * x.shape[3]))
        x = F.conv2d(x, net.embedding.weight[:, :, None, None], net.embedding.bias)
        if net.clocks is not None:
            ages = net.clocks.count_ages(observation)
            x = x + net.clocks(ages, observation[:, -1], net.is_single)[:, :, None, None]
        if net.lines is not None:
            x = x + net.lines(observation[:, -1])
        return self._place(x)

    def _down(self, x: Tensor, stage: DownStage) -> Tensor:
        x = self._drop(x, self.network.config.fit.dropout)
        x = self._place(F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2)))
        return _norm(stage.activation(stage.convolution(x)), stage.norm)

    def _up(self, x: Tensor, skip: Tensor, action: Tensor, stage: UpStage, convolution: nn.Module) -> Tensor:
        x = _inject(self._drop(x, self.network.config.fit.dropout), action, stage.injection)
        x = stage.activation(convolution(x))
        return self._place(_norm(x[:, :, : skip.shape[2], : skip.shape[3]] + skip, stage.norm))

    def _middle(self, x: Tensor) -> Tensor:
        middle, dropout = self.network.middle, self.network.config.fit.middle_dropout
        x = middle.activations[0](middle.convolutions[0](self._drop(x, dropout)))
        for i, norm in enumerate(middle.norms, start=1):
            y = middle.activations[i](middle.convolutions[i](self._drop(x, dropout)))
            x = _norm(x + y, cast(CellNorm, norm))
        return x

    def _drop(self, x: Tensor, probability: float) -> Tensor:
        return F.dropout(x, probability, self.training)

    def _place(self, x: Tensor) -> Tensor:
        size = tuple(x.shape[1:])
        if size not in self._signals:
            self._signals[size] = position_signal(*size).to(x.device)
        return x + self._signals[size]


def _norm(x: Tensor, norm: CellNorm) -> Tensor:
    # Copying back is cheaper than a norm over the strided channel axis.
    cells = F.layer_norm(x.permute(0, 2, 3, 1), norm.weight.shape, norm.weight, norm.bias, eps=1e-6)
    return cells.permute(0, 3, 1, 2).contiguous()


def _inject(x: Tensor, action: Tensor, injection: ActionInjection) -> Tensor:
    gate = torch.sigmoid(injection.multiply(action))[:, :, None, None]
    shift: Tensor = injection.add(action)[:, :, None, None]
    return x * gate + shift


class PlainPolicy(nn.Module):
    """A policy that computes the same logits and values, unoptimised.

    Args:
        policy: without iteration embeddings; copied, the copy is `network`.
    """

    def __init__(self, policy: ActorCritic) -> None:
        super().__init__()
        self.num_frames = policy.num_frames
        self.network = deepcopy(policy)
        to_plain_memory(self.network)

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Uint8 `[B, K, C, H, W]` to logits `[B, A]` and value `[B]`."""
        net = self.network
        x = observation.flatten(1, 2).float() / (net.levels - 1)
        for convolution in net.convolutions:
            x = F.relu(convolution(x))
        hidden = F.relu(net.dense(x.permute(0, 2, 3, 1).flatten(1)))
        return PolicyOutput(net.action_head(hidden), net.value_head(hidden).squeeze(1))
