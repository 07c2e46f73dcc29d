"""The bits of the stochastic discrete model: inferred from what happened, predicted from what is known before."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.errors import ShapeError
from evade.policies.network import SameConv2d
from evade.world_models.bits_settings import BitsConfig
from evade.world_models.blocks import ActionInjection, PositionSignal

POSTERIOR_KERNEL, POSTERIOR_STRIDE = 8, 4
"""Of both convolutions of the posterior (T2T SimPLe)."""


def to_symbols(bits: Tensor, per_symbol: int) -> Tensor:
    """Bits, -1 or 1, `[B, n]` to symbols int64 `[B, n / per_symbol]`; the first bit is the least significant."""
    powers = 2 ** torch.arange(per_symbol, device=bits.device)
    return ((bits > 0).view(len(bits), -1, per_symbol) * powers).sum(-1)


def to_bits(symbols: Tensor, per_symbol: int) -> Tensor:
    """Symbols int64 `[B, S]` to bits, -1 or 1, float32 `[B, S * per_symbol]`."""
    places = torch.arange(per_symbol, device=symbols.device)
    return (((symbols.unsqueeze(-1) >> places) & 1) * 2 - 1).flatten(1).float()


def sign(x: Tensor) -> Tensor:
    """-1 or 1; of 0, -1."""
    return (x > 0).to(x.dtype) * 2 - 1


class BitPredictor(nn.Module):
    """A small LSTM that predicts the bits symbol by symbol from the bottleneck; always in the weights' own dtype.

    Args:
        in_features: values of the bottleneck, all cells and channels.
        config: number of bits and sizes.
    """

    def __init__(self, in_features: int, config: BitsConfig) -> None:
        super().__init__()
        self.config = config
        self.num_symbols = config.count // config.per_symbol
        size, num_values = config.predictor_size, 2**config.per_symbol
        self.first_input = nn.Linear(in_features, size)
        self.first_cell = nn.Linear(in_features, size)
        self.first_output = nn.Linear(in_features, size)
        self.gates = nn.Linear(2 * size, 4 * size)
        self.head = nn.Linear(size, num_values)
        self.symbol_embedding = nn.Linear(num_values, size)

    def sample(self, bottleneck: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor]:
        """Predict symbol after symbol, each from those before.

        Args:
            bottleneck: `[B, C, h, w]`.
            noise: uniform random numbers `[B, S]`, one for each symbol; None for the most likely symbols.

        Returns:
            Bits, -1 or 1, `[B, n]`, and logits `[B, S, values of a symbol]`.
        """
        with torch.autocast(bottleneck.device.type, enabled=False):
            x, cell, output = self._start(bottleneck)
            symbols, logits = [], []
            for index in range(self.num_symbols):
                cell, output = self._step(x, cell, output)
                logits.append(self.head(output))
                symbols.append(self._choose(logits[-1], None if noise is None else noise[:, index]))
                x = self._embed(symbols[-1])
        return to_bits(torch.stack(symbols, 1), self.config.per_symbol), torch.stack(logits, 1)

    def logits(self, bottleneck: Tensor, bits: Tensor) -> Tensor:
        """Logits `[B, S, values of a symbol]` of each symbol, given those before.

        Args:
            bottleneck: `[B, C, h, w]`.
            bits: -1 or 1, `[B, n]`.
        """
        rate = self.config.predictor_dropout
        with torch.autocast(bottleneck.device.type, enabled=False):
            x, cell, output = self._start(bottleneck)
            given = F.dropout(self._embed(to_symbols(bits, self.config.per_symbol)), rate, self.training)
            outputs = []
            for index in range(self.num_symbols):
                cell, output = self._step(x, cell, output)
                outputs.append(output)
                x = given[:, index]
            logits: Tensor = self.head(F.dropout(torch.stack(outputs, 1), rate, self.training))
        return logits

    def loss(self, logits: Tensor, bits: Tensor) -> Tensor:
        """The mean cross-entropy of the symbols, a scalar in nats: logits `[B, S, values]`, bits `[B, n]`."""
        return F.cross_entropy(logits.flatten(0, 1), to_symbols(bits, self.config.per_symbol).flatten())

    def _start(self, bottleneck: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        source = bottleneck.permute(0, 2, 3, 1).flatten(1).to(self.head.weight.dtype)
        if source.shape[1] != self.first_input.in_features:
            channels, height, width = bottleneck.shape[1:]
            raise ShapeError(
                f"Invalid frames: they give a bottleneck of {height} x {width} cells, but the bits are predicted from "
                f"{self.first_input.in_features // channels}. Use frames of the size the model was built for."
            )
        return self.first_input(source), self.first_cell(source), self.first_output(source)

    def _step(self, x: Tensor, cell: Tensor, output: Tensor) -> tuple[Tensor, Tensor]:
        """One step of TensorFlow's LSTM cell, whose gates are ordered input, candidate, forget, output."""
        admit, candidate, forget, emit = self.gates(torch.cat([x, output], 1)).chunk(4, 1)
        cell = torch.sigmoid(forget + 1) * cell + torch.sigmoid(admit) * torch.tanh(candidate)
        return cell, torch.sigmoid(emit) * torch.tanh(cell)

    def _embed(self, symbols: Tensor) -> Tensor:
        """Int64 `[...]` to `[..., size]`: the layer's output for one-hot symbols."""
        return F.embedding(symbols, self.symbol_embedding.weight.t()) + self.symbol_embedding.bias

    def _choose(self, logits: Tensor, noise: Tensor | None) -> Tensor:
        """A symbol of each row, int64 `[B]`, by where its random number falls among the cumulated probabilities."""
        if noise is None or self.config.temperature == 0:
            return logits.argmax(-1)
        cumulated = (logits / self.config.temperature).softmax(-1).cumsum(-1)
        return (cumulated[:, :-1] <= noise.unsqueeze(1)).sum(-1)


class AttentionPool(nn.Module):
    """Pools a map to a vector: its mean, and its mean weighted by several learned attentions, through a dense layer.

    Args:
        channels: of the map; the vector has twice as many.
        num_heads: number of attentions.
    """

    def __init__(self, channels: int, num_heads: int) -> None:
        super().__init__()
        self.attention = nn.Linear(channels, num_heads)
        self.output = nn.Linear(channels * (num_heads + 1), 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to `[B, 2 C]`."""
        cells = x.flatten(2)
        weight = self.attention(cells.transpose(1, 2)).softmax(1)
        # The mean over cells and not the sum, though the weights already sum to 1: so does T2T SimPLe.
        attended = cells @ weight / cells.shape[2]
        pooled: Tensor = self.output(torch.cat([attended, cells.mean(2, keepdim=True)], 2).flatten(1))
        return pooled


class BitPosterior(nn.Module):
    """Infers the bits' logits from a frame, the action and the frame that followed; used for fitting alone.

    Args:
        in_channels: channels of one frame.
        hidden_size: channels after the embedding, and size of the embedded action.
        config: number of bits and sizes.
    """

    def __init__(self, in_channels: int, hidden_size: int, config: BitsConfig) -> None:
        super().__init__()
        first, second = config.posterior_filters
        self.embedding = nn.Linear(2 * in_channels, hidden_size)
        self.position = PositionSignal()
        self.injection = ActionInjection(hidden_size, hidden_size)
        self.first = SameConv2d(hidden_size, first, POSTERIOR_KERNEL, stride=POSTERIOR_STRIDE)
        self.first_pool = AttentionPool(first, config.posterior_heads)
        self.second = SameConv2d(first, second, POSTERIOR_KERNEL, stride=POSTERIOR_STRIDE)
        self.second_pool = AttentionPool(second, config.posterior_heads)
        self.head = nn.Linear(2 * (first + second), config.count)

    def forward(self, frame: Tensor, next_frame: Tensor, action: Tensor) -> Tensor:
        """Logits `[B, n]` of the bits: each is 1 where its logit is positive.

        Args:
            frame: standardised, `[B, C, H, W]`.
            next_frame: standardised, `[B, C, H, W]`.
            action: embedded, `[B, hidden_size]`.
        """
        pair = torch.cat([frame, next_frame], 1).permute(0, 2, 3, 1)
        embedded = self.injection(self.position(self.embedding(pair).permute(0, 3, 1, 2)), action)
        first = self.first(embedded)
        pooled = torch.cat([self.first_pool(first), self.second_pool(self.second(F.relu(first)))], 1)
        logits: Tensor = self.head(pooled)
        return logits.float() if logits.dtype == torch.bfloat16 else logits
