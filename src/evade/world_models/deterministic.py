"""SimPLe's deterministic next-frame and reward model, with EVaDE's reward path."""

import torch
from torch import Tensor

from evade.checks import require
from evade.records import Logits, Loss, Memory, Noise, Prediction, Statistics, Transitions
from evade.world_models.ages import WIDEST, advance_ages
from evade.world_models.cell_embeddings import can_embed, embed_objects
from evade.world_models.clocks import Clocks
from evade.world_models.conversion import as_float
from evade.world_models.frame_network import FrameNetwork, Output
from evade.world_models.inputs import check_inputs
from evade.world_models.lines import Lines
from evade.world_models.local_heads import NUM_FRAMES, LocalHeads
from evade.world_models.losses import clipped_binary_cross_entropy
from evade.world_models.pixel_loss import compute_pixel_loss
from evade.world_models.pixel_noise import add_pixel_noise
from evade.world_models.rewards import reward_classes
from evade.world_models.settings import DeterministicConfig
from evade.world_models.surprises import Surprises


class DeterministicWorldModel(FrameNetwork):
    """From stacked frames and an action to the next frame, the reward and, with `predicts_end`, the end of the game.

    Args:
        config: sizes, event layers, noise and losses.
        num_frames: frames K in an observation.
        channels: channels C of one frame.
        levels: values V one channel of one cell can take.
        num_actions: size of the action set.
        lowest_reward: the reward of class 0.
        num_reward_classes: number of consecutive integer rewards from there on.
        frame_size: rows and columns of a frame; only clocks, surprises and the event prior need it.
    """

    config: DeterministicConfig

    def __init__(
        self,
        config: DeterministicConfig,
        *,
        num_frames: int,
        channels: int,
        levels: int,
        num_actions: int,
        lowest_reward: int = -1,
        num_reward_classes: int = 3,
        frame_size: tuple[int, int] | None = None,
    ) -> None:
        self.seen_frames = config.seen_frames or num_frames
        super().__init__(
            config,
            in_channels=self.seen_frames * channels,
            channels=channels,
            levels=levels,
            num_actions=num_actions,
            lowest_reward=lowest_reward,
            num_reward_classes=num_reward_classes,
            has_pooled_heads=not config.local_heads,
        )
        self.num_frames = num_frames
        if config.one_place:
            self.register_buffer("change_excess", torch.zeros(2, channels))
        self._check_settings()
        self.clocks = None
        if config.clocks:
            rule = f"must be False, because this game's grid has more than {WIDEST} columns"
            require(frame_size is None or frame_size[1] <= WIDEST, "world_model.clocks", True, rule)
            self.clocks = Clocks(num_frames, channels, config.hidden_size, counts=config.counts)
        self.lines = Lines(channels, config.hidden_size) if config.lines else None
        assert frame_size is not None or not config.surprises, "surprises need the size of frames"
        self.surprises = Surprises(channels, frame_size) if config.surprises and frame_size is not None else None
        self.local_heads = None
        if config.local_heads:
            self.local_heads = LocalHeads(
                config.reward,
                channels=channels,
                size=config.hidden_size,
                lowest_reward=lowest_reward,
                num_reward_classes=num_reward_classes,
                predicts_end=config.predicts_end,
            )
        self._complete(frame_size)
        self._has_budget = self.event_prior is not None and config.reward.prior_budget > 0

    def _check_settings(self) -> None:
        rule = f"must not exceed env.num_frames = {self.num_frames}"
        require(self.seen_frames <= self.num_frames, "world_model.seen_frames", self.seen_frames, rule)
        rule = f"must be at least {NUM_FRAMES} with world_model.local_heads"
        require(not self.config.local_heads or self.num_frames >= NUM_FRAMES, "env.num_frames", self.num_frames, rule)
        for name in ("clocks", "lines", "surprises", "local_heads"):
            rule = f"must be False, because this game's cells have {self.levels} values and not 2"
            require(not getattr(self.config, name) or self.levels == 2, f"world_model.{name}", True, rule)

    @property
    def is_single(self) -> Tensor | None:
        """With `counts`, the channels that show one object in every frame, bool `[C]`."""
        return self.one_object.diagonal() if self.config.counts else None

    def forward(self, observation: Tensor, action: Tensor) -> Logits:
        """Logits of the next step.

        Args:
            observation: uint8 (or bool) `[B, K, C, H, W]`, K = `num_frames`, values 0 to `levels` - 1.
            action: int64 `[B]`, taken at the last frame.
        """
        with self._autocast(observation):
            output = self._body(observation, action)
            frame = self._frame_logits(output.features)
        return Logits(frame, output.reward, output.end)

    def _body(self, observation: Tensor, action: Tensor, memory: Memory = ()) -> Output:
        check_inputs(observation, action, self.num_frames, self.channels)
        embedded_action = self.action_embedding(action)
        context = None
        if self.clocks is not None:
            ages = (memory or self.initial_memory(observation))[0]
            context = self.clocks(ages, observation[:, -1], self.is_single)
        embedded = self._embed_frames(observation[:, -self.seen_frames :], context)
        if self.lines is not None:
            embedded = embedded + self.lines(observation[:, -1])
        encoded = self._encode(embedded, embedded_action)
        if self.local_heads is None:
            return self._decode(encoded)
        features = self._decode_features(encoded)
        log_odds = self._log_odds(features)
        # Without gradient: the frame must not be predicted so that rewards become likely.
        reward, end = self.local_heads(observation, torch.sigmoid(log_odds.detach()), embedded_action)
        return Output(features, reward, end, log_odds)

    def _embed_frames(self, frames: Tensor, context: Tensor | None) -> Tensor:
        """The first map, `[B, hidden_size, H, W]`, of the frames that the network sees, `[B, K, C, H, W]`."""
        size = self.config.hidden_size
        if self.levels == 2 and not self.config.standardise and can_embed(frames, size):
            weight, bias = self.embedding.weight, self.embedding.bias
            position = self.position.find(weight, size, *frames.shape[3:])
            embedded: Tensor = embed_objects(frames, weight, bias, context, position)
            return embedded.permute(0, 3, 1, 2)
        return self._embed(self.standardise(as_float(frames).flatten(1, 2)), context)

    def compute_loss(self, batch: Transitions) -> Loss:
        """The loss of a batch, a weighted sum of mean clipped cross-entropies (and of the KL term), with named metrics.

        Pixel noise and dropout are on in training mode. The event layers' noise follows their own mode: use `resample`
        for fitting.
        """
        config = self.config.fit
        # First, because it is the only value read on the host: all that follows can be compiled as one graph.
        reward_class = reward_classes(batch.reward, self.lowest_reward, self.num_reward_classes)
        observation = batch.observation
        if self.training and config.pixel_noise > 0:
            observation = add_pixel_noise(observation, config.pixel_noise)
        with self._autocast(observation):
            output = self._body(observation, batch.action)
        if output.log_odds is None:
            frame_loss = compute_pixel_loss(output.features, self.frame_head, batch.next_frame, config.loss_cutoff)
        else:
            frame_loss = clipped_binary_cross_entropy(output.log_odds, batch.next_frame, config.loss_cutoff).mean()
        return self._combine_losses(frame_loss, output.reward, reward_class, output.end, batch.terminated)

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

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """With `flips` two numbers between 0 and 1 for each dream, with `surprises` one of them, `[B]`."""
        noise: Noise = ()
        if self.config.flips:
            noise = (torch.rand(batch_size, 2, generator=generator, device=self.frame_head.weight.device),)
        return noise if self.surprises is None else (*noise, self.surprises.sample(batch_size, generator))

    @torch.no_grad()
    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """The next frame and end, and the reward by `config.reward.estimate`; shapes as in `forward`.

        Without noise the most likely frame, with noise one that chance decides. Call it in `.eval()` mode, with a draw
        held or the mean in use (`evade.layers`).
        """
        memory = memory or self.initial_memory(observation)
        with self._autocast(observation):
            output = self._body(observation, action, memory)
        left = memory[-1] if self._has_budget else None
        share = noise[0] if noise and self.config.flips else None
        prediction = self._decide(output, observation, action, share=share, left=left)
        if self.surprises is not None and noise:
            prediction = prediction._replace(frame=self.surprises.show(prediction.frame, noise[-1]))
        if self.clocks is not None:
            later = advance_ages(memory[0], observation[:, -1], prediction.frame, self.num_frames)
            prediction = prediction._replace(memory=(later, *prediction.memory))
        return prediction

    @torch.no_grad()
    def observe(self, batch: Transitions) -> None:
        """Remember what the model did not predict, and count the events of the event prior."""
        if self.surprises is None:
            super().observe(batch)
            return
        predicted = self.predict(batch.observation, batch.action).frame
        self._count_events(batch, predicted)
        self.surprises.observe(predicted, batch.next_frame, batch.terminated)

    @torch.no_grad()
    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward, float32 `[B]`; inputs as in `forward`."""
        with self._autocast(observation):
            output = self._body(observation, action, memory)
        return self._expect(output, observation, action)
