"""The noisy event weighting layer (paper, section 3.2, equation 3)."""

import torch
from torch import Tensor

from evade.layers.noise import Init, NoisyLayer, initial_weight


class NoisyEventWeighting(NoisyLayer):
    """One noisy factor for each channel: varies the weight of the event that the channel detects.

    Stores C weights and C sigmas; equivalent to a 1x1 convolution with a diagonal filter. Shape and dtype of
    `[B, C, H, W]` do not change; no bias.

    Args:
        channels: channels in and out.
        sigma_init: initial relative noise of every weight.
        init: `"identity"` passes the input through unchanged at zero noise; `"random"` is uniform in [-1, 1].
        device: of the parameters.
        dtype: of the parameters.
    """

    def __init__(
        self,
        channels: int,
        *,
        sigma_init: float = 0.1,
        init: Init = "identity",
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels)
        self.weight = initial_weight(init, torch.ones(channels, device=device, dtype=dtype), fan_in=1)
        self.add_noise(sigma_init)

    def mean_weight(self) -> Tensor:
        """`[C]`."""
        return self.weight

    def kernel(self, weight: Tensor) -> Tensor:
        """The factors as `[C, 1, 1]`, to multiply `[B, C, H, W]`."""
        return weight[:, None, None]

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Equation 3."""
        return x * kernel.to(x.dtype)

    def expand(self, kernel: Tensor) -> Tensor:
        """The factors on the diagonal of `[C, C, 1, 1]`."""
        return torch.diag(kernel.flatten())[:, :, None, None]
