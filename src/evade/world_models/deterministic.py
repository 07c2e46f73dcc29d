"""SimPLe's deterministic next-frame and reward model, with EVaDE's reward path."""

import torch
from torch import Tensor

from evade.records import Logits, Loss, Memory, Noise, Prediction, Transitions
from evade.world_models.frame_network import Output
from evade.world_models.grid_network import GridNetwork
from evade.world_models.inputs import check_inputs
from evade.world_models.pixel_noise import add_pixel_noise
from evade.world_models.rewards import reward_classes
from evade.world_models.settings import DeterministicConfig
from evade.world_models.surprises import Surprises


class DeterministicWorldModel(GridNetwork):
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
        super().__init__(
            config,
            num_frames=num_frames,
            in_channels=(config.seen_frames or num_frames) * channels,
            channels=channels,
            levels=levels,
            num_actions=num_actions,
            lowest_reward=lowest_reward,
            num_reward_classes=num_reward_classes,
            frame_size=frame_size,
        )
        self._require_binary("surprises", config.surprises)
        assert frame_size is not None or not config.surprises, "surprises need the size of frames"
        self.surprises = Surprises(channels, frame_size) if config.surprises and frame_size is not None else None
        self._complete(frame_size)

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
        encoded = self._encode(self._look(observation, memory), self.action_embedding(action))
        return self._finish(encoded, observation)

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
        frame_loss = self._frame_loss(output, batch.next_frame)
        return self._combine_losses(frame_loss, output.reward, reward_class, output.end, batch.terminated)

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """With `flips` two numbers between 0 and 1 for each dream, with `surprises` one of them, `[B]`."""
        noise = self._sample_shares(batch_size, generator)
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
        share = noise[0] if noise and self.config.flips else None
        prediction = self._decide(output, observation, action, share=share, left=self._budget_left(memory))
        if self.surprises is not None and noise:
            prediction = prediction._replace(frame=self.surprises.show(prediction.frame, noise[-1]))
        return self._advance_clocks(prediction, memory, observation)

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
