"""The noisy event translation layer (paper, section 3.3, equation 4)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from evade.layers.errors import LayerError
from evade.layers.noise import Init, NoisyLayer, initial_weight


class NoisyEventTranslation(NoisyLayer):
    """Each cell becomes a noisy sum of itself and its neighbours in row and column: varies where events happen.

    Of each channel's m x m filter, m = 2 * max_shift + 1, only the middle row and column are trainable: (2m - 1) * C
    weights and as many sigmas. Shape and dtype of `[B, C, H, W]` do not change; no bias.

    Args:
        channels: channels in and out.
        max_shift: largest shift in cells. The paper uses 1 (a 3x3 filter).
        sigma_init: initial relative noise of every weight.
        init: `"identity"` passes the input through unchanged at zero noise; `"random"` initialises as `nn.Conv2d`
            with a fan-in of 2m - 1.
        device: of the parameters.
        dtype: of the parameters.
    """

    taps: Tensor

    def __init__(
        self,
        channels: int,
        max_shift: int = 1,
        *,
        sigma_init: float = 0.1,
        init: Init = "identity",
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels)
        if max_shift < 1:
            raise LayerError(f"Invalid max_shift = {max_shift}: must be at least 1.")
        self.max_shift = max_shift
        size = self.kernel_size
        # Index of each stored weight in the flattened m x m filter: the middle row from left to right, then the middle
        # column from top to bottom without the centre, which is part of the row.
        row = [max_shift * size + column for column in range(size)]
        column = [row * size + max_shift for row in range(size) if row != max_shift]
        self.register_buffer("taps", torch.tensor(row + column, device=device), persistent=False)
        identity = torch.zeros(channels, len(self.taps), device=device, dtype=dtype)
        identity[:, max_shift] = 1
        self.weight = initial_weight(init, identity, fan_in=len(self.taps))
        self.add_noise(sigma_init)

    @property
    def kernel_size(self) -> int:
        """Filter size m."""
        return 2 * self.max_shift + 1

    def mean_weight(self) -> Tensor:
        """`[C, 2m - 1]`: the middle row, then the rest of the middle column."""
        return self.weight

    def kernel(self, weight: Tensor) -> Tensor:
        """Each channel's filter with zeros outside the middle row and column: `[C, 1, m, m]`."""
        size = self.kernel_size
        flat = weight.new_zeros(self.channels, size * size).index_copy(1, self.taps, weight)
        return flat.view(self.channels, 1, size, size)

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Equation 4 with SAME padding."""
        return F.conv2d(x, kernel, padding=self.max_shift, groups=self.channels)

    def expand(self, kernel: Tensor) -> Tensor:
        """Each channel's filter on the diagonal of `[C, C, m, m]`."""
        return torch.diag_embed(kernel[:, 0].permute(1, 2, 0)).permute(2, 3, 0, 1)
