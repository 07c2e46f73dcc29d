"""The building blocks of SimPLe's U-net: input, position signals, stages, action conditioning.

Activations are `[B, C, H, W]`, preferably in channels-last memory: layer norm and the dense heads work on the
channels of one cell.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.errors import ActionError
from evade.world_models.cell_convolutions import can_convolve, convolve_cells
from evade.world_models.transposed import ConvTranspose2d


def initialise(module: nn.Module) -> None:
    """T2T SimPLe's initial weights: uniform kernels with variance scaling 1.3 (mode "fan_avg"), zero biases."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            out_and_in = layer.weight.shape[0] + layer.weight.shape[1]
            mean_fan = out_and_in * layer.weight[0, 0].numel() / 2
            bound = math.sqrt(3 * 1.3 / mean_fan)
            nn.init.uniform_(layer.weight, -bound, bound)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class Activation(nn.Module):
    """ReLU, or belu: ELU(x) on even channels and -ELU(-x) on odd ones."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.is_relu = kind, kind == "relu"

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape."""
        if self.is_relu:
            return F.relu(x)
        return torch.stack([F.elu(x[:, 0::2]), -F.elu(-x[:, 1::2])], dim=2).flatten(1, 2)

    def extra_repr(self) -> str:
        """The kind."""
        return self.kind


class Standardise(nn.Module):
    """Scale each channel of each frame to mean 0 and standard deviation 1 over its cells."""

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape; the divisor is at least 1 / sqrt(H * W), for channels that hardly vary."""
        # Two passes, because torch.var_mean is not vectorised over these axes and takes 18 times as long.
        centred = x - x.mean(dim=(2, 3), keepdim=True)
        deviation = centred.square().mean(dim=(2, 3), keepdim=True).sqrt()
        floor = 1 / math.sqrt(x.shape[2] * x.shape[3])
        return centred / deviation.clamp_min(floor)


class PositionSignal(nn.Module):
    """Adds sines and cosines of row and column at several frequencies, so that convolutions can use the position."""

    signal: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("signal", torch.zeros(0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape and dtype."""
        return x + self.find(x, *x.shape[1:])

    def find(self, like: Tensor, *shape: int) -> Tensor:
        """The signal of shape `[C, H, W]`, with the dtype and on the device of `like`."""
        if self.signal.shape != shape or self.signal.dtype != like.dtype:
            self._compute(like, *shape)
        return self.signal

    def _compute(self, like: Tensor, channels: int, height: int, width: int) -> None:
        # Cached for the last size, which does not change in practice. Inference mode is disabled because a tensor made
        # in it could not be used for training later.
        with torch.inference_mode(False), torch.no_grad():
            signal = position_signal(channels, height, width).to(like)
            # In the memory format of the activations; adding different formats takes 7 times as long.
            self.signal = signal.unsqueeze(0).contiguous(memory_format=torch.channels_last).squeeze(0)


def position_signal(channels: int, height: int, width: int) -> Tensor:
    """The signal `[C, H, W]`: sin and cos of the row, then of the column, at C // 4 frequencies; then zeros."""
    count = channels // 4
    frequency = torch.exp(torch.arange(count) * -(math.log(1e4) / max(count - 1, 1)))
    row = torch.arange(height)[None, :, None] * frequency[:, None, None]
    column = torch.arange(width)[None, None, :] * frequency[:, None, None]
    waves = [wave.expand(count, height, width) for wave in (row.sin(), row.cos(), column.sin(), column.cos())]
    return torch.cat([*waves, torch.zeros(channels - 4 * count, height, width)])


class CellNorm(nn.Module):
    """Layer norm over the channels of each cell, with a learned scale and shift for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape."""
        batch, channels, height, width = x.shape
        # One row for each cell: compiled code otherwise copies the map into another layout first.
        cells = x.permute(0, 2, 3, 1).reshape(-1, channels)
        # Statistics are always float32; on some devices autocast also returns float32.
        normed = F.layer_norm(cells, self.weight.shape, self.weight, self.bias, eps=1e-6).to(x.dtype)
        return normed.view(batch, height, width, channels).permute(0, 3, 1, 2)


def mix_channels(cells: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A linear map of each cell's channels; cells of frames, whose memory has the channels first, are not copied.

    Args:
        cells: `[B, H, W, C]`.
        weight: `[D, C]`.
        bias: `[D]`.

    Returns:
        `[B, H, W, D]`, contiguous.
    """
    mixed = torch.bmm(cells.flatten(1, 2), weight.t().expand(len(cells), -1, -1))
    return (mixed if bias is None else mixed + bias).view(*cells.shape[:3], -1)


class CellLinear(nn.Linear):
    """`nn.Linear` that uses `mix_channels` above."""

    def forward(self, cells: Tensor) -> Tensor:
        """`[B, H, W, C]` to `[B, H, W, D]`."""
        return mix_channels(cells, self.weight, self.bias)


class ActionEmbedding(nn.Module):
    """A learned vector for each action; that of action 0, the no-op, is always zero."""

    def __init__(self, num_actions: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_actions, size) / math.sqrt(size))

    def forward(self, action: Tensor) -> Tensor:
        """Int64 `[B]` to `[B, size]`."""
        num_actions, size = self.weight.shape
        try:
            rows = F.embedding(action, self.weight)
        except IndexError:
            raise ActionError(
                f"Invalid actions from {action.min().item()} to {action.max().item()}: must be 0 to "
                f"{num_actions - 1}. Use the network with the game it was built for."
            ) from None
        return rows * ((action != 0).to(rows.dtype) * math.sqrt(size)).unsqueeze(1)


class ActionInjection(nn.Module):
    """The action gates and shifts every channel: x * sigmoid(M a) + S a."""

    def __init__(self, action_size: int, channels: int) -> None:
        super().__init__()
        self.multiply = nn.Linear(action_size, channels)
        self.add = nn.Linear(action_size, channels)

    def forward(self, x: Tensor, action: Tensor) -> Tensor:
        """`[B, C, H, W]` and `[B, action_size]` to `[B, C, H, W]`."""
        gate, shift = self.coefficients(action)
        return torch.addcmul(shift[:, :, None, None], x, gate[:, :, None, None])

    def coefficients(self, action: Tensor) -> tuple[Tensor, Tensor]:
        """The factor and the summand of each channel, both `[B, C]`."""
        return torch.sigmoid(self.multiply(action)), self.add(action)


class Dropout(nn.Module):
    """Dropout that uses one 64-bit random number for four values.

    Sampling one number for each value was 6 % of a fit step at the paper's size. The probability is rounded to a
    multiple of 1 / 65536, and the kept values are scaled by the rounded probability, so that the mean is exact.

    Args:
        probability: of setting a value to zero in training mode, below 1.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.num_dropped = min(round(probability * 2**16), 2**16 - 1)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape; random numbers from torch's global generator."""
        if not self.training or self.probability == 0:
            return x
        # A compiler samples in the same loop that uses the numbers.
        if torch.compiler.is_compiling():
            return F.dropout(x, self.probability)
        batch, channels, height, width = x.shape
        numbers = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device).random_(-(2**63), None)
        decisions = numbers.view(torch.int16)[: x.numel()].view(batch, height, width, channels).permute(0, 3, 1, 2)
        scale = x.new_full((), 2**16 / (2**16 - self.num_dropped))
        return x * ((decisions >= self.num_dropped - 2**15) * scale)

    def extra_repr(self) -> str:
        """The probability."""
        return str(self.probability)


class LocalLayer(nn.Module):
    """A residual 3x3 convolution at full resolution: action, convolution, activation, residual, norm."""

    def __init__(self, channels: int, action_size: int, activation: str) -> None:
        super().__init__()
        self.injection = ActionInjection(action_size, channels)
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1)
        self.activation = Activation(activation)
        self.norm = CellNorm(channels)

    def forward(self, x: Tensor, action: Tensor) -> Tensor:
        """`[B, C, H, W]` and `[B, action_size]` to `[B, C, H, W]`."""
        if self.activation.is_relu and can_convolve(self.convolution, x):
            gate, shift = self.injection.coefficients(action)
            return convolve_cells(self.convolution, x, gate=gate, shift=shift, residual=x, norm=self.norm)
        normed: Tensor = self.norm(x + self.activation(self.convolution(self.injection(x, action))))
        return normed


class DownStage(nn.Module):
    """Halves rows and columns: dropout, pad to even, position, 4x4 convolution, activation, norm."""

    def __init__(self, in_channels: int, out_channels: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.position = PositionSignal()
        self.convolution = nn.Conv2d(in_channels, out_channels, 4, stride=2, padding=1)
        self.activation = Activation(activation)
        self.norm = CellNorm(out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C_in, H, W]` to `[B, C_out, ceil(H / 2), ceil(W / 2)]`."""
        x = self.dropout(x)
        if self.activation.is_relu and can_convolve(self.convolution, x):
            size = ((x.shape[2] + 1) // 2, (x.shape[3] + 1) // 2)
            position = self.position.find(x, x.shape[1], 2 * size[0], 2 * size[1])
            return convolve_cells(self.convolution, x, position=position, norm=self.norm, out_size=size)
        x = F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))
        x = self.activation(self.convolution(self.position(x)))
        normed: Tensor = self.norm(x)
        return normed


class UpStage(nn.Module):
    """Doubles rows and columns: dropout, action, transposed convolution, activation, crop, skip, norm, position."""

    def __init__(self, in_channels: int, out_channels: int, action_size: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.injection = ActionInjection(action_size, in_channels)
        self.convolution = ConvTranspose2d(in_channels, out_channels, 4, stride=2, padding=1)
        self.activation = Activation(activation)
        self.norm = CellNorm(out_channels)
        self.position = PositionSignal()

    def forward(self, x: Tensor, skip: Tensor, action: Tensor, convolution: nn.Module | None = None) -> Tensor:
        """Upsample to the size of the skip connection.

        Args:
            x: `[B, C_in, h, w]`.
            skip: `[B, C_out, H, W]`, the input of the matching down stage; 2h - 1 <= H <= 2h, same for W.
            action: `[B, action_size]`.
            convolution: replaces the stage's own one (used by the reward path for its noisy one).

        Returns:
            `[B, C_out, H, W]`.
        """
        x = self.dropout(x)
        if self.activation.is_relu and convolution is None and can_convolve(self.convolution, x):
            gate, shift = self.injection.coefficients(action)
            return convolve_cells(
                self.convolution,
                x,
                gate=gate,
                shift=shift,
                residual=skip,
                norm=self.norm,
                later_position=self.position.find(skip, *skip.shape[1:]),
                out_size=(skip.shape[2], skip.shape[3]),
            )
        x = self.injection(x, action)
        x = self.activation((convolution or self.convolution)(x))
        positioned: Tensor = self.position(self.norm(_crop(x, skip) + skip))
        return positioned


def _crop(x: Tensor, like: Tensor) -> Tensor:
    # By negative padding: the gradient of a slice is not channels-last, and the gradient of the ReLU before it then
    # takes 6 times as long.
    rows, columns = like.shape[2] - x.shape[2], like.shape[3] - x.shape[3]
    return F.pad(x, (0, columns, 0, rows)) if rows or columns else x


class MiddleNet(nn.Module):
    """3x3 convolutions at the bottleneck; all but the first are residual and normed."""

    def __init__(self, channels: int, num_layers: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(num_layers))
        self.activations = nn.ModuleList(Activation(activation) for _ in range(num_layers))
        self.norms = nn.ModuleList(CellNorm(channels) for _ in range(num_layers - 1))

    def forward(self, x: Tensor) -> Tensor:
        """`[B, C, H, W]` to the same shape."""
        if self.activations[0].is_relu and can_convolve(self.convolutions[0], x):
            x = convolve_cells(self.convolutions[0], self.dropout(x))
            for convolution, norm in zip(self.convolutions[1:], self.norms, strict=True):
                assert can_convolve(convolution, x), "all of them are alike"
                x = convolve_cells(convolution, self.dropout(x), residual=x, norm=norm)
            return x
        x = self.activations[0](self.convolutions[0](self.dropout(x)))
        for convolution, activation, norm in zip(self.convolutions[1:], self.activations[1:], self.norms, strict=True):
            x = norm(x + activation(convolution(self.dropout(x))))
        return x
