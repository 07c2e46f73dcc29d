"""SimPLe's stochastic discrete next-frame and reward model, with EVaDE's reward path."""

import torch
from torch import Tensor, nn

from evade.records import Logits, Loss, Memory, Noise, Prediction, Sequences, Transitions
from evade.world_models.bits import BitPosterior, BitPredictor, sign
from evade.world_models.blocks import ActionEmbedding, ActionInjection, initialise
from evade.world_models.change_posterior import ChangePosterior
from evade.world_models.conversion import as_float
from evade.world_models.frame_network import Output
from evade.world_models.grid_network import GridNetwork
from evade.world_models.inputs import check_inputs
from evade.world_models.pixel_noise import add_pixel_noise
from evade.world_models.rewards import reward_classes
from evade.world_models.sequences import as_sequences
from evade.world_models.settings import StochasticDiscreteConfig
from evade.world_models.unet import Encoded

CENTRED_FLOOR = 1e-4
"""Added to the standard deviation by which the posterior's logits are divided (`bits.centred`)."""

LEAST_SHARE = 0.01
"""Of every share that grows during a warm-up (T2T SimPLe)."""


class StochasticDiscreteWorldModel(GridNetwork):
    """The deterministic model's U-net with bits at its bottleneck, which decide what chance decides in the game.

    A dream samples the bits, all at once for the whole frame, and then shows the most likely frame given them. The
    network sees one frame and a recurrent state, which depends on the frames alone, instead of a stack of frames
    (unless `memory_channels` is 0). A step costs one pass: T2T SimPLe makes K passes, one for each frame of the
    observation, and keeps the state after the first; carrying the state forward gives the same result.

    Args:
        config: sizes, bits, event layers, noise and losses.
        num_frames: frames K in an observation; with memory, any number can be predicted from.
        channels: channels C of one frame.
        levels: values V one channel of one cell can take.
        num_actions: size of the action set.
        bottleneck_cells: cells of the map after the last down stage.
        lowest_reward: the reward of class 0.
        num_reward_classes: number of consecutive integer rewards from there on.
        frame_size: rows and columns of a frame; only `bits.sees_changes` and the event prior need it.
    """

    config: StochasticDiscreteConfig
    num_updates: Tensor

    def __init__(
        self,
        config: StochasticDiscreteConfig,
        *,
        num_frames: int,
        channels: int,
        levels: int,
        num_actions: int,
        bottleneck_cells: int,
        lowest_reward: int = -1,
        num_reward_classes: int = 3,
        frame_size: tuple[int, int] | None = None,
    ) -> None:
        memory, size, bits = config.memory_channels, config.hidden_size, config.bits
        super().__init__(
            config,
            num_frames=num_frames,
            in_channels=channels + memory if memory else (config.seen_frames or num_frames) * channels,
            channels=channels,
            levels=levels,
            num_actions=num_actions,
            lowest_reward=lowest_reward,
            num_reward_classes=num_reward_classes,
            frame_size=frame_size,
        )
        self.target_action_embedding = ActionEmbedding(num_actions, size)
        self.bit_injection = ActionInjection(bits.count, self.bottleneck_channels)
        self.bit_predictor = BitPredictor(self.bottleneck_channels * bottleneck_cells, bits)
        self.bit_posterior = self._build_posterior(frame_size)
        self.memory_update = nn.Conv2d(memory + channels, 2 * memory, 3, padding=1) if memory else None
        for part in (self.bit_injection, self.bit_predictor, self.bit_posterior, self.memory_update):
            if part is not None:
                initialise(part)
        if isinstance(self.bit_posterior, BitPosterior):
            nn.init.normal_(self.bit_posterior.embedding.bias, std=0.01)
        self.register_buffer("num_updates", torch.zeros((), dtype=torch.long))
        self._complete(frame_size)

    def _build_posterior(self, frame_size: tuple[int, int] | None) -> BitPosterior | ChangePosterior:
        bits = self.config.bits
        self._require_binary("bits.sees_changes", bits.sees_changes)
        if not bits.sees_changes:
            return BitPosterior(self.channels, self.config.hidden_size, bits)
        assert frame_size is not None, "a posterior of changes needs the size of frames"
        return ChangePosterior(self.channels, frame_size, bits)

    def forward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Logits:
        """Logits of the next step under the bits that `noise` chooses; arguments as in `predict`."""
        with self._autocast(observation):
            output, _ = self._body(observation, action, memory, noise)
            frame = self._frame_logits(output.features)
        return Logits(frame, output.reward, output.end)

    @torch.no_grad()
    def initial_memory(self, observation: Tensor) -> Memory:
        """The state after all but the last frame of an observation, from zero; then what the grid's parts carry."""
        more = super().initial_memory(observation)
        if self.memory_update is None:
            return more
        self._check(observation, observation[:, 0, 0, 0, 0])
        with self._autocast(observation):
            state = self._no_state(observation[:, 0])
            for frame in observation[:, :-1].unbind(1):
                state = self._update_state(state, self.standardise(frame.float()))
        return (state, *more)

    def sample_noise(self, batch_size: int, generator: torch.Generator | None) -> Noise:
        """A uniform random number for each symbol, `[B, S]` (none at temperature 0), and with `flips` two, `[B, 2]`."""
        shares = self._sample_shares(batch_size, generator)
        if self.config.bits.temperature == 0:
            return shares
        shape = (batch_size, self.bit_predictor.num_symbols)
        return (torch.rand(shape, generator=generator, device=self.num_updates.device), *shares)

    @torch.no_grad()
    def predict(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Prediction:
        """Sample the bits, then take the most likely next frame and end, and the reward by `config.reward.estimate`.

        Call it in `.eval()` mode, with a draw held or the mean in use (`evade.layers`).

        Args:
            observation: uint8 `[B, K, C, H, W]`.
            action: int64 `[B]`, taken at the last frame.
            memory: of the step before, or from `initial_memory`; `()` reads it from the observation's earlier frames.
            noise: from `sample_noise`; `()` for the most likely bits.
        """
        self._check(observation, action)
        memory = memory or self.initial_memory(observation)
        with self._autocast(observation):
            output, new_state = self._body(observation, action, memory, noise)
        share = noise[-1] if noise and self.config.flips else None
        left = self._budget_left(memory)
        prediction = self._decide(output, observation, action, new_state, share, left)
        return self._advance_clocks(prediction, memory, observation)

    @torch.no_grad()
    def expected_reward(self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()) -> Tensor:
        """The mean of the predicted distribution of the reward under the sampled bits, float32 `[B]`."""
        with self._autocast(observation):
            output, _ = self._body(observation, action, memory, noise)
        return self._expect(output, observation, action)

    @torch.no_grad()
    def predict_bits(
        self, observation: Tensor, action: Tensor, memory: Memory = (), noise: Noise = ()
    ) -> tuple[Tensor, Tensor]:
        """The bits of a step, -1 or 1, `[B, n]`, and the logits of their symbols, `[B, S, values]`."""
        with self._autocast(observation):
            encoded, *_ = self._enter(observation, action, memory)
            return self.bit_predictor.sample(encoded.bottleneck, self._symbol_noise(noise))

    def _symbol_noise(self, noise: Noise) -> Tensor | None:
        return noise[0] if noise and self.config.bits.temperature > 0 else None

    def _body(self, observation: Tensor, action: Tensor, memory: Memory, noise: Noise) -> tuple[Output, Memory]:
        encoded, frame, state = self._enter(observation, action, memory)
        bits, _ = self.bit_predictor.sample(encoded.bottleneck, self._symbol_noise(noise))
        with_bits = encoded._replace(bottleneck=self.bit_injection(encoded.bottleneck, bits))
        output = self._finish(with_bits, observation)
        return output, () if state is None else (self._update_state(state, frame),)

    def _enter(self, observation: Tensor, action: Tensor, memory: Memory) -> tuple[Encoded, Tensor, Tensor | None]:
        """The bottleneck before the bits, the last frame, standardised, and the state before it."""
        self._check(observation, action)
        state = None
        if self.memory_update is not None:
            state = (memory or self.initial_memory(observation))[0]
        frame: Tensor = self.standardise(as_float(observation[:, -1]))
        first = self._first_map(observation, frame, state, memory)
        return self._encode(first, self.action_embedding(action)), frame, state

    def _check(self, observation: Tensor, action: Tensor) -> None:
        check_inputs(observation, action, self.num_frames if self.memory_update is None else None, self.channels)

    def _first_map(self, observation: Tensor, frame: Tensor, state: Tensor | None, memory: Memory = ()) -> Tensor:
        """Of the last frame, standardised, and the state, or of the stack of frames where there is no state."""
        return self._look(observation, memory) if state is None else self._embed(torch.cat([frame, state], 1))

    def _no_state(self, frame: Tensor) -> Tensor:
        batch, _, height, width = frame.shape
        state = torch.zeros((batch, self.config.memory_channels, height, width), device=frame.device)
        return state.to(memory_format=torch.channels_last)

    def _update_state(self, state: Tensor, frame: Tensor) -> Tensor:
        """The state `[B, M, H, W]` after one more frame, standardised `[B, C, H, W]`."""
        assert self.memory_update is not None
        gate, candidate = self.memory_update(torch.cat([state, frame], 1)).to(state.dtype).chunk(2, 1)
        gate = torch.sigmoid(gate)
        return state * gate + torch.tanh(candidate) * (1 - gate)

    def compute_loss(self, batch: Transitions) -> Loss:
        """The loss of single transitions, as sequences of one predicted frame whose earlier actions are no-ops."""
        return self.compute_sequence_loss(as_sequences(batch))

    def compute_sequence_loss(self, batch: Sequences) -> Loss:
        """The loss of sequences of K + T frames, and named metrics.

        The sum of the clipped cross-entropies of the T predicted frames, rewards and ends, of the predictions of the
        observation's own later frames (only with memory), and of the bits' mean cross-entropy. In training mode the
        bits are the posterior's, mixed with predicted ones; otherwise they are sampled and their loss is 0.
        """
        num_inputs = self.num_frames
        rewards = batch.reward[:, num_inputs - 1 :]
        reward_class = reward_classes(rewards, self.lowest_reward, self.num_reward_classes)
        fed = list(batch.frame[:, :num_inputs].unbind(1))
        state = self._no_state(fed[0]) if self.memory_update is not None else None
        frame_losses, input_losses, bit_losses, outputs = [], [], [], []
        for step in range(0 if state is not None else num_inputs - 1, batch.action.shape[1]):
            table = self.action_embedding if step < num_inputs else self.target_action_embedding
            seen = 1 if state is not None else num_inputs
            observation = torch.stack(fed[step + 1 - seen : step + 1], 1)
            next_frame = batch.frame[:, step + 1]
            with self._autocast(observation):
                output, state, bit_loss = self._fit_step(observation, state, table(batch.action[:, step]), next_frame)
            frame_loss = self._frame_loss(output, next_frame)
            bit_losses.append(bit_loss)
            if step >= num_inputs - 1:
                outputs.append(output)
                frame_losses.append(frame_loss)
                fed.append(self._choose_frame(output, observation, next_frame))
            else:
                input_losses.append(frame_loss)
        ends = [output.end for output in outputs if output.end is not None]
        loss = self._combine_losses(
            torch.stack(frame_losses).mean(),
            torch.cat([output.reward for output in outputs]),
            reward_class.t().flatten(),
            torch.cat(ends) if ends else None,
            batch.terminated[:, num_inputs - 1 :].t().flatten(),
        )
        bit_loss = torch.stack(bit_losses).mean()
        input_loss = torch.stack(input_losses).mean() if input_losses else torch.zeros_like(bit_loss)
        total = loss.total + bit_loss + self.config.fit.frame_loss_weight * input_loss
        more = {"loss": total.detach(), "bit_loss": bit_loss.detach(), "input_frame_loss": input_loss.detach()}
        return Loss(total, loss.metrics | more)

    def _fit_step(
        self, observation: Tensor, state: Tensor | None, action: Tensor, next_frame: Tensor
    ) -> tuple[Output, Tensor | None, Tensor]:
        """One step of a sequence: the network's output, the state after it and the bits' loss.

        Args:
            observation: uint8 `[B, 1 or K, C, H, W]`.
            state: `[B, M, H, W]`.
            action: embedded, `[B, hidden_size]`.
            next_frame: uint8 `[B, C, H, W]`.
        """
        if self.training and self.config.fit.pixel_noise > 0:
            observation = add_pixel_noise(observation, self.config.fit.pixel_noise)
        frame = self.standardise(as_float(observation[:, -1]))
        encoded = self._encode(self._first_map(observation, frame, state), action)
        layer = encoded.bottleneck
        bits, is_used, bit_loss = self._fit_bits(layer, frame, self.standardise(as_float(next_frame)), action)
        with_bits = self.bit_injection(layer, bits)
        mixed = torch.where(is_used[:, None, None, None], with_bits, layer)
        new_state = None if state is None else self._update_state(state, frame)
        return self._finish(encoded._replace(bottleneck=mixed), observation), new_state, bit_loss

    def _fit_bits(
        self, layer: Tensor, frame: Tensor, next_frame: Tensor, action: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Bits `[B, n]`, whether each example uses them, bool `[B]`, and the loss of predicting them."""
        config, batch = self.config.bits, len(layer)
        if not self.training:
            bits, _ = self.bit_predictor.sample(layer, self._global_noise(batch))
            return bits, torch.ones(batch, dtype=torch.bool, device=layer.device), bits.new_zeros(())
        logits = self.bit_posterior(frame, next_frame, action)
        if config.centred:
            centred = logits - logits.mean(0)
            logits = centred / (centred.square().mean(0).sqrt() + CENTRED_FLOOR)
        clean = sign(logits.detach())
        loss = self.bit_predictor.loss(self.bit_predictor.logits(layer, clean), clean)
        grown = self._grown(config.warmup_updates)
        bits = self._discretise(logits, grown)
        if config.predicted_share > 0:
            with torch.no_grad():
                predicted, _ = self.bit_predictor.sample(layer.detach(), self._global_noise(batch))
            is_predicted = torch.rand_like(bits) < config.predicted_share * grown
            bits = torch.where(is_predicted, predicted, bits)
        is_used = torch.rand(batch, device=bits.device) < config.used_share * self._grown(config.use_warmup_updates)
        return bits, is_used, loss

    def _discretise(self, logits: Tensor, share: Tensor) -> Tensor:
        """Noisy bits, of which a share is -1 or 1 and the others tanh; the gradient is always tanh's."""
        config = self.config.bits
        if config.noise > 0:
            bound = 2 * config.noise
            logits = logits + nn.init.trunc_normal_(torch.empty_like(logits), std=config.noise, a=-bound, b=bound)
        soft = torch.tanh(logits)
        hard = soft + (sign(soft) - soft).detach()
        hard = hard * sign(torch.rand_like(soft) - config.flipped_share)
        return torch.where(torch.rand_like(soft) < share, hard, soft)

    def _choose_frame(self, output: Output, observation: Tensor, next_frame: Tensor) -> Tensor:
        """What the next step of a sequence sees: the game's frame, or with some probability the network's own."""
        if not self.training or self.config.own_frames == 0:
            return next_frame
        warmup = self.config.own_frames_warmup
        early = LEAST_SHARE ** (1 - (self.num_updates / (warmup / 4)).clamp_max(1.0))
        probability = self.config.own_frames * early * self._grown(warmup)
        is_own = torch.rand(len(next_frame), device=next_frame.device) < probability
        with torch.no_grad():
            own = self._decide_frame(output, observation)
        return torch.where(is_own[:, None, None, None], own, next_frame)

    def _grown(self, warmup: int) -> Tensor:
        """How far a warm-up of some updates has come: from 0.01 to 1."""
        return LEAST_SHARE + (1 - LEAST_SHARE) * (self.num_updates / warmup).clamp_max(1.0)

    def _global_noise(self, batch_size: int) -> Tensor | None:
        return self._symbol_noise(self.sample_noise(batch_size, None))
