"""The noisy event weighting layer (paper, section 3.2, equation 3)."""

import torch
from torch import Tensor

from evade.layers.noise import Init, NoisyLayer, initial_weight


class NoisyEventWeighting(NoisyLayer):
    """One noisy factor for each channel: an event counts for more, or for less.

    Stores c weights and c sigmas; as a convolution it is 1x1 with a diagonal filter. Keeps shape and dtype of
    `[B, C, H, W]`; no bias.

    Args:
        channels: channels in and out.
        sigma_init: initial relative noise of every weight.
        init: `"identity"` passes the input through unchanged at zero noise; `"random"` starts uniform in [-1, 1].
        device: where the parameters live.
        dtype: their type.
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
        """The factors, ready to multiply `[B, C, H, W]`: `[C, 1, 1]`."""
        return weight[:, None, None]

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Equation 3."""
        return x * kernel.to(x.dtype)

    def expand(self, kernel: Tensor) -> Tensor:
        """The factors on the diagonal of `[C, C, 1, 1]`."""
        return torch.diag(kernel.flatten())[:, :, None, None]
