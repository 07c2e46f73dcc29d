"""SimPLe's deterministic next-frame and reward model, with EVaDE's reward path."""

import torch
from torch import Tensor

from evade.records import Logits, Loss, Memory, Noise, Prediction, Transitions
from evade.world_models.frame_network import FrameNetwork, Output
from evade.world_models.pixel_loss import compute_pixel_loss
from evade.world_models.pixel_noise import add_pixel_noise
from evade.world_models.settings import DeterministicConfig


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
        frame_size: rows and columns of a frame; only the event prior needs it.
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
            in_channels=num_frames * channels,
            channels=channels,
            levels=levels,
            num_actions=num_actions,
            lowest_reward=lowest_reward,
            num_reward_classes=num_reward_classes,
        )
        self.num_frames = num_frames
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

    def _body(self, observation: Tensor, action: Tensor) -> Output:
        self._check(observation, action, self.num_frames)
        embedded_action = self.action_embedding(action)
        return self._decode(self._encode(self.standardise(observation.flatten(1, 2).float()), embedded_action))

    def compute_loss(self, batch: Transitions) -> Loss:
        """The loss of a batch, a weighted sum of mean clipped cross-entropies (and of the KL term), with named metrics.

        Pixel noise and dropout are on in training mode. The event layers' noise follows their own mode: use `resample`
        for fitting.
        """
        config = self.config.fit
        # First, because it is the only value read on the host: all that follows can be compiled as one graph.
        reward_class = self._reward_class(batch.reward)
        observation = batch.observation
        if self.training and config.pixel_noise > 0:
            observation = add_pixel_noise(observation, config.pixel_noise)
        with self._autocast(observation):
            output = self._body(observation, batch.action)
        frame_loss = compute_pixel_loss(output.features, self.frame_head, batch.next_frame, config.loss_cutoff)
        return self._combine_losses(frame_loss, output.reward, reward_class, output.end, batch.terminated)

    def initial_memory(self, observation: Tensor) -> Memory:
        """Empty: this model has no memory."""
        return ()

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """Empty: this model does not sample."""
        return ()

    @torch.no_grad()
    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """The most likely next frame and end, and the reward by `config.reward.estimate`; shapes as in `forward`.

        Call it in `.eval()` mode, with a draw held or the mean in use (`evade.layers`).
        """
        with self._autocast(observation):
            output = self._body(observation, action)
        return self._decide(output, observation, action)

    @torch.no_grad()
    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward, float32 `[B]`; inputs as in `forward`."""
        with self._autocast(observation):
            output = self._body(observation, action)
        return self._expect(output, observation, action)
