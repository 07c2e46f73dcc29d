"""What world models can have on grids of objects: clocks, lines, heads on neighbourhoods, a budget for the prior."""

from abc import ABC

import torch
from torch import Tensor

from evade.checks import require
from evade.records import Memory, Noise, Prediction, Statistics
from evade.world_models.ages import WIDEST, advance_ages
from evade.world_models.cell_embeddings import can_embed, embed_objects
from evade.world_models.clocks import Clocks
from evade.world_models.conversion import as_float
from evade.world_models.frame_network import FrameNetwork, Output
from evade.world_models.lines import Lines
from evade.world_models.local_heads import NUM_FRAMES, LocalHeads
from evade.world_models.losses import clipped_binary_cross_entropy
from evade.world_models.pixel_loss import compute_pixel_loss
from evade.world_models.settings import GridNetworkConfig
from evade.world_models.unet import Encoded


class GridNetwork(FrameNetwork, ABC):
    """The network with what its settings add for grids of objects; on images, where they add nothing, the plain one.

    Args:
        config: sizes, event layers, noise and losses.
        num_frames: frames K in an observation.
        in_channels: channels of the network's input.
        channels: channels C of one frame.
        levels: values V one channel of one cell can take.
        num_actions: size of the action set.
        lowest_reward: the reward of class 0.
        num_reward_classes: number of consecutive integer rewards from there on.
        frame_size: rows and columns of a frame.
    """

    config: GridNetworkConfig

    def __init__(
        self,
        config: GridNetworkConfig,
        *,
        num_frames: int,
        in_channels: int,
        channels: int,
        levels: int,
        num_actions: int,
        lowest_reward: int,
        num_reward_classes: int,
        frame_size: tuple[int, int] | None,
    ) -> None:
        super().__init__(
            config,
            in_channels=in_channels,
            channels=channels,
            levels=levels,
            num_actions=num_actions,
            lowest_reward=lowest_reward,
            num_reward_classes=num_reward_classes,
            has_pooled_heads=not config.local_heads,
        )
        self.num_frames = num_frames
        self.seen_frames = config.seen_frames or num_frames
        if config.one_place:
            self.register_buffer("change_excess", torch.zeros(2, channels))
        self._check_settings(frame_size)
        self.clocks = self.lines = self.local_heads = None
        if config.clocks:
            self.clocks = Clocks(num_frames, channels, config.hidden_size, counts=config.counts)
        if config.lines:
            self.lines = Lines(channels, config.hidden_size)
        if config.local_heads:
            self.local_heads = LocalHeads(
                config.reward,
                channels=channels,
                size=config.hidden_size,
                lowest_reward=lowest_reward,
                num_reward_classes=num_reward_classes,
                predicts_end=config.predicts_end,
            )

    def _check_settings(self, frame_size: tuple[int, int] | None) -> None:
        rule = f"must not exceed env.num_frames = {self.num_frames}"
        require(self.seen_frames <= self.num_frames, "world_model.seen_frames", self.seen_frames, rule)
        rule = f"must be at least {NUM_FRAMES} with world_model.local_heads"
        require(not self.config.local_heads or self.num_frames >= NUM_FRAMES, "env.num_frames", self.num_frames, rule)
        for name in ("clocks", "lines", "local_heads"):
            self._require_binary(name, getattr(self.config, name))
        rule = f"must be False, because this game's grid has more than {WIDEST} columns"
        is_narrow = frame_size is None or frame_size[1] <= WIDEST
        require(is_narrow or not self.config.clocks, "world_model.clocks", True, rule)

    def _require_binary(self, name: str, value: bool) -> None:
        rule = f"must be False, because this game's cells have {self.levels} values and not 2"
        require(not value or self.levels == 2, f"world_model.{name}", value, rule)

    def _complete(self, frame_size: tuple[int, int] | None) -> None:
        super()._complete(frame_size)
        self._has_budget = self.event_prior is not None and self.config.reward.prior_budget > 0

    @property
    def is_single(self) -> Tensor | None:
        """With `counts`, the channels that show one object in every frame, bool `[C]`."""
        return self.one_object.diagonal() if self.config.counts else None

    def use_statistics(self, statistics: Statistics) -> None:
        """Store what `keeps_objects`, `corrects_rates` and `local_heads` need; ignored without them."""
        super().use_statistics(statistics)
        if self.local_heads is not None:
            self.local_heads.num_transitions.fill_(statistics.num_transitions)

    def initial_memory(self, observation: Tensor) -> Memory:
        """With `clocks`, how long ago each channel changed (`count_ages`); with `prior_budget` that budget, `[B]`."""
        memory: Memory = () if self.clocks is None else (self.clocks.count_ages(observation),)
        if self._has_budget:
            budget = torch.full((len(observation),), self.config.reward.prior_budget, device=observation.device)
            memory = (*memory, budget)
        return memory

    def _look(self, observation: Tensor, memory: Memory) -> Tensor:
        """The first map, `[B, hidden_size, H, W]`, of the frames that the network sees, with clocks and lines.

        Args:
            observation: uint8 `[B, K, C, H, W]`.
            memory: of these dreams, or `()` to count ages in the observation.
        """
        context = None
        if self.clocks is not None:
            ages = memory[0] if memory else self.clocks.count_ages(observation)
            context = self.clocks(ages, observation[:, -1], self.is_single)
        embedded = self._embed_frames(observation[:, -self.seen_frames :], context)
        if self.lines is not None:
            embedded = embedded + self.lines(observation[:, -1])
        return embedded

    def _embed_frames(self, frames: Tensor, context: Tensor | None) -> Tensor:
        size = self.config.hidden_size
        if self.levels == 2 and not self.config.standardise and can_embed(frames, size):
            weight, bias = self.embedding.weight, self.embedding.bias
            position = self.position.find(weight, size, *frames.shape[3:])
            embedded: Tensor = embed_objects(frames, weight, bias, context, position)
            return embedded.permute(0, 3, 1, 2)
        return self._embed(self.standardise(as_float(frames).flatten(1, 2)), context)

    def _finish(self, encoded: Encoded, observation: Tensor) -> Output:
        """What the up stages and the heads make of the bottleneck.

        Args:
            encoded: the bottleneck and the embedded action.
            observation: uint8 `[B, K, C, H, W]`; only heads on neighbourhoods see it.
        """
        if self.local_heads is None:
            return self._decode(encoded)
        features = self._decode_features(encoded)
        log_odds = self._log_odds(features)
        # Without gradient: the frame must not be predicted so that rewards become likely.
        reward, end = self.local_heads(observation, torch.sigmoid(log_odds.detach()), encoded.action)
        return Output(features, reward, end, log_odds)

    def _frame_loss(self, output: Output, next_frame: Tensor) -> Tensor:
        """The mean clipped cross-entropy of a frame, uint8 `[B, C, H, W]`: a scalar."""
        cutoff = self.config.fit.loss_cutoff
        if output.log_odds is None:
            return compute_pixel_loss(output.features, self.frame_head, next_frame, cutoff)
        return clipped_binary_cross_entropy(output.log_odds, next_frame, cutoff).mean()

    def _sample_shares(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """With `flips` two numbers between 0 and 1 for each dream, `[B, 2]`: of the frame and of the end."""
        if not self.config.flips:
            return ()
        return (torch.rand(batch_size, 2, generator=generator, device=self.frame_head.weight.device),)

    def _budget_left(self, memory: Memory) -> Tensor | None:
        return memory[-1] if self._has_budget else None

    def _advance_clocks(self, prediction: Prediction, memory: Memory, observation: Tensor) -> Prediction:
        """The prediction with the ages after it first in its memory; `memory` is that of the step's beginning."""
        if self.clocks is None:
            return prediction
        later = advance_ages(memory[0], observation[:, -1], prediction.frame, self.num_frames)
        return prediction._replace(memory=(later, *prediction.memory))
