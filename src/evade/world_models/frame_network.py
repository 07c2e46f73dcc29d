"""The network that SimPLe's world models share: heads on a U-net, EVaDE's reward path, losses and decisions."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from evade.checks import require
from evade.layers import kl_divergence
from evade.records import Loss, Memory, Noise, Prediction, Statistics, Transitions
from evade.world_models.blocks import ActionEmbedding, UpStage, initialise
from evade.world_models.event_prior import EventPrior
from evade.world_models.feature_maps import capture, event_map_names
from evade.world_models.frame_logits import compute_log_odds
from evade.world_models.heads import NUM_EVENT_STAGES, PooledHead, RewardPath
from evade.world_models.losses import clipped_binary_cross_entropy, clipped_cross_entropy
from evade.world_models.next_frame import predict_objects, predict_pixels
from evade.world_models.rates import bound_excess, correct_ends
from evade.world_models.rewards import decide_reward, mean_reward
from evade.world_models.settings import FrameNetworkConfig
from evade.world_models.unet import Encoded, UNet


class Output(NamedTuple):
    """What the up stages and the heads make of the bottleneck."""

    features: Tensor
    """`[B, hidden_size, H, W]`, for the frame head."""
    reward: Tensor
    """The reward's logits, `[B, R]`."""
    end: Tensor | None
    """The log-odds of the end, `[B]`; None without an end head."""
    log_odds: Tensor | None = None
    """Of each value of the frame being 1, `[B, C, H, W]`, if they are known already."""


class FrameNetwork(UNet, ABC):
    """SimPLe's network from frames and an action to the next frame, the reward and, with `predicts_end`, the end.

    Works for frames of any height and width (odd ones are padded and cropped) and 2 to 256 values for each channel of
    each cell. The transition path is independent of the reward path: with and without event layers, the same weights
    give bit-identical frames. A subclass says what enters the network and what happens at the bottleneck.

    Args:
        config: sizes, event layers, noise and losses.
        in_channels: channels of the network's input.
        channels: channels C of one frame.
        levels: values V one channel of one cell can take.
        num_actions: size of the action set.
        lowest_reward: the reward of class 0.
        num_reward_classes: number of consecutive integer rewards from there on.
        has_pooled_heads: whether the heads of reward and end, and the reward path, are this class's own.
    """

    one_object: Tensor
    change_excess: Tensor | None
    reward_excess: Tensor
    end_excess: Tensor

    def __init__(
        self,
        config: FrameNetworkConfig,
        *,
        in_channels: int,
        channels: int,
        levels: int,
        num_actions: int,
        lowest_reward: int,
        num_reward_classes: int,
        has_pooled_heads: bool = True,
    ) -> None:
        super().__init__(config, in_channels)
        self.channels, self.levels, self.num_actions = channels, levels, num_actions
        self.lowest_reward, self.num_reward_classes = lowest_reward, num_reward_classes
        require(
            not config.keeps_objects or levels == 2,
            "world_model.keeps_objects",
            config.keeps_objects,
            f"must be False, because this game's cells have {levels} values and not 2",
        )
        size, hidden = config.hidden_size, config.reward_hidden_size
        self.frame_head = nn.Linear(size, channels * levels)
        sizes = self.bottleneck_channels + size, hidden
        self.reward_head = self.end_head = None
        if has_pooled_heads:
            self.reward_head = PooledHead(*sizes, num_reward_classes, bias=False, has_max=config.pools_max)
        if has_pooled_heads and config.predicts_end:
            self.end_head = PooledHead(*sizes, 1, bias=True, has_max=config.pools_max)
        if config.keeps_objects:
            self.register_buffer("one_object", torch.zeros(channels, channels, dtype=torch.bool))
        self.register_buffer("change_excess", None)
        if config.corrects_rates:
            self.register_buffer("reward_excess", torch.zeros(num_reward_classes))
            self.register_buffer("end_excess", torch.zeros(()))
        initialise(self)
        nn.init.normal_(self.embedding.bias, std=0.01)
        if self.reward_head is not None:
            nn.init.normal_(self.reward_head.output.weight, std=hidden**-0.5)
        self.action_embedding = ActionEmbedding(num_actions, size)

    def _complete(self, frame_size: tuple[int, int] | None) -> None:
        """Add the reward path and the prior, last, so that a seed gives the same transition path without them."""
        reward = self.config.reward
        self.reward_path = None
        if reward.event_layers and self.reward_head is not None:
            self.reward_path = RewardPath(reward, self._event_stages(), self.config.depth)
        self.event_prior = self._build_prior(frame_size)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it

    def _build_prior(self, frame_size: tuple[int, int] | None) -> EventPrior | None:
        reward = self.config.reward
        if not reward.event_layers or reward.prior_scale == 0:
            return None
        rule = f"must be 0, because this game's cells have {self.levels} values and not two"
        require(self.levels == 2, "world_model.reward.prior_scale", reward.prior_scale, rule)
        assert frame_size is not None, "the event prior needs the size of frames"
        return EventPrior(
            reward.event_layers,
            channels=self.channels,
            frame_size=frame_size,
            num_actions=self.num_actions,
            scale=reward.prior_scale,
            patience=reward.prior_patience,
            optimism=reward.prior_optimism,
        )

    def _event_stages(self) -> list[UpStage]:
        return [stage for stage in self.up if isinstance(stage, UpStage)][-NUM_EVENT_STAGES:]

    def _autocast(self, observation: Tensor) -> AbstractContextManager[Any]:
        if self.config.precision == "bfloat16":
            return torch.autocast(observation.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def _decode(self, encoded: Encoded) -> Output:
        """From the bottleneck to the frame head's features and the other heads' logits."""
        assert self.reward_head is not None, "a subclass without pooled heads has its own"
        bottleneck, skips, action = encoded
        stages, x = self._event_stages(), self.middle(bottleneck)
        branch = self.config.depth - len(stages)
        for stage, skip in zip(self.up[:branch], skips[:branch], strict=True):
            x = stage(x, skip, action)
        shared_map = x
        for stage, skip in zip(stages, skips[branch:], strict=True):
            x = stage(x, skip, action)
        reward_map = x
        if self.reward_path is not None:
            reward_map = self.reward_path(shared_map, stages, skips[branch:], action)
        end = None if self.end_head is None else self.end_head(bottleneck, x).squeeze(1)
        return Output(x, self.reward_head(bottleneck, reward_map), end)

    def _frame_logits(self, features: Tensor) -> Tensor:
        """`[B, hidden_size, H, W]` to `[B, H, W, C, V]`."""
        logits: Tensor = self.frame_head(features.permute(0, 2, 3, 1))
        return logits.view(*logits.shape[:-1], self.channels, self.levels)

    def _combine_losses(
        self, frame_loss: Tensor, reward: Tensor, reward_class: Tensor, end: Tensor | None, terminated: Tensor
    ) -> Loss:
        """The weighted sum of mean clipped cross-entropies (and of the KL term), with named metrics.

        Args:
            frame_loss: a scalar.
            reward: `[B, R]`.
            reward_class: int64 `[B]`.
            end: `[B]`.
            terminated: bool `[B]`.
        """
        config = self.config.fit
        reward_loss = clipped_cross_entropy(reward, reward_class, config.loss_cutoff).mean()
        total = config.frame_loss_weight * frame_loss + reward_loss
        reward_accuracy = (reward.detach().argmax(-1) == reward_class).float().mean()
        metrics = {"frame_loss": frame_loss, "reward_loss": reward_loss, "reward_accuracy": reward_accuracy}
        if end is not None:
            end_loss = clipped_binary_cross_entropy(end, terminated, config.loss_cutoff).mean()
            total = total + end_loss
            metrics["end_loss"] = end_loss
        kl_weight = self.config.reward.kl_weight
        if kl_weight > 0:
            kl = kl_divergence(self)
            total = total + kl_weight * kl
            metrics["kl"] = kl
        return Loss(total, {"loss": total.detach()} | {name: value.detach() for name, value in metrics.items()})

    @abstractmethod
    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """The next step of B dreams."""

    @abstractmethod
    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward, float32 `[B]`."""

    @torch.no_grad()
    def observe(self, batch: Transitions) -> None:
        """Count the events of real transitions for the event prior; ignored without one."""
        if self.event_prior is not None:
            self._count_events(batch, self.predict(batch.observation, batch.action).frame)

    @torch.no_grad()
    def observe_dreamt(self, batch: Transitions) -> None:
        """Count the events of dreams along real actions for the event prior; ignored without one."""
        self._count_events(batch._replace(reward=torch.zeros_like(batch.reward)), batch.next_frame)

    def _count_events(self, batch: Transitions, predicted: Tensor) -> None:
        """Let the event prior count, if there is one; `predicted` are the most likely frames of the batch."""
        if self.event_prior is not None:
            self.event_prior.observe(
                batch.observation[:, -1], batch.action, batch.next_frame, predicted, batch.reward != 0
            )

    def use_statistics(self, statistics: Statistics) -> None:
        """Store what `keeps_objects` and `corrects_rates` need; ignored without them."""
        if self.config.keeps_objects:
            self.one_object.copy_(statistics.one_object)
        if self.change_excess is not None and self.config.corrects_rates:
            self.change_excess.copy_(bound_excess(statistics.change_excess))
        if self.config.corrects_rates:
            self.reward_excess.copy_(bound_excess(statistics.reward_excess))
            self.end_excess.copy_(bound_excess(statistics.end_excess))

    def feature_maps(self, observation: Tensor, action: Tensor) -> dict[str, Tensor]:
        """The maps before and after each event layer, by name."""
        names = [name for name in event_map_names(self) if not name.startswith("event_prior.")]
        with capture(self, names) as maps:
            self.expected_reward(observation, action)
        return maps

    def _decide(
        self,
        output: Output,
        observation: Tensor,
        action: Tensor,
        memory: Memory = (),
        share: Tensor | None = None,
        left: Tensor | None = None,
    ) -> Prediction:
        """The frame and the end, and the reward by `config.reward.estimate`.

        Args:
            output: of the network.
            observation: the network's input.
            action: its other input.
            memory: to return with the prediction.
            share: `[B, 2]`, uniform between 0 and 1, to sample frame and end; None for the most likely ones.
            left: `[B]`, the most that the event prior may still add or take away in each dream, in points; the memory
                then ends with what is left afterwards.
        """
        frame = self._decide_frame(output, observation, None if share is None else share[:, 0])
        reward = decide_reward(self._correct_rewards(output.reward), self.lowest_reward, self.config.reward.estimate)
        if self.event_prior is not None:
            added = self.event_prior.added_reward(reward, observation[:, -1], action, frame)
            if left is not None:
                added = added / self.event_prior.scale * left
                memory = (*memory, left - added.abs())
            reward = reward + added
        return Prediction(frame, reward, self._decide_end(output.end, action, share), memory)

    def _decide_end(self, log_odds: Tensor | None, action: Tensor, share: Tensor | None) -> Tensor:
        if log_odds is None:
            return torch.zeros_like(action, dtype=torch.bool)
        if self.config.corrects_rates:
            log_odds = correct_ends(log_odds, self.end_excess, self.config.fit.loss_cutoff)
        return log_odds > 0 if share is None else torch.sigmoid(log_odds) > share[:, 1]

    def _correct_rewards(self, logits: Tensor) -> Tensor:
        return logits - self.reward_excess if self.config.corrects_rates else logits

    def _expect(self, output: Output, observation: Tensor, action: Tensor) -> Tensor:
        """The mean reward, `[B]`, the event prior's share included."""
        reward = mean_reward(self._correct_rewards(output.reward), self.lowest_reward)
        if self.event_prior is not None:
            frame = self._decide_frame(output, observation)
            reward = reward + self.event_prior.added_reward(reward, observation[:, -1], action, frame)
        return reward

    def _decide_frame(self, output: Output, observation: Tensor, share: Tensor | None = None) -> Tensor:
        if self.config.keeps_objects:
            log_odds = self._log_odds(output.features) if output.log_odds is None else output.log_odds
            return predict_objects(log_odds, observation[:, -1], self.one_object, share, self.change_excess)
        return predict_pixels(output.features, self.frame_head, self.channels)

    def _log_odds(self, features: Tensor) -> Tensor:
        """Of each value of a binary frame being 1, `[B, C, H, W]`."""
        with torch.autocast(features.device.type, enabled=False):
            return compute_log_odds(features, self.frame_head.weight, self.frame_head.bias)
