"""The noisy event interaction layer (paper, section 3.1, equation 2)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from evade.layers.errors import LayerError
from evade.layers.noise import Init, NoisyLayer, initial_weight


class NoisyEventInteraction(NoisyLayer):
    """A full m x m convolution with noise on every weight: varies the value of events in which objects meet.

    Stores m * m * C * C weights and as many sigmas. Shape and dtype of `[B, C, H, W]` do not change; no bias.

    Args:
        channels: channels in and out.
        kernel_size: filter size m, odd. The paper uses 1.
        sigma_init: initial relative noise of every weight.
        init: `"identity"` passes the input through unchanged at zero noise; `"random"` initialises as `nn.Conv2d`.
        device: of the parameters.
        dtype: of the parameters.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: int = 1,
        *,
        sigma_init: float = 0.1,
        init: Init = "identity",
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(channels)
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise LayerError(f"Invalid kernel_size = {kernel_size}: must be odd and at least 1.")
        self.kernel_size = kernel_size
        middle = kernel_size // 2
        identity = torch.zeros(channels, channels, kernel_size, kernel_size, device=device, dtype=dtype)
        identity[:, :, middle, middle].fill_diagonal_(1)
        self.weight = initial_weight(init, identity, fan_in=channels * kernel_size**2)
        self.add_noise(sigma_init)

    def mean_weight(self) -> Tensor:
        """`[C, C, m, m]`, as `nn.Conv2d` stores it."""
        return self.weight

    def kernel(self, weight: Tensor) -> Tensor:
        """The weights are the kernel, `[C, C, m, m]`."""
        return weight

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Equation 2 with SAME padding."""
        return F.conv2d(x, kernel, padding=self.kernel_size // 2)

    def expand(self, kernel: Tensor) -> Tensor:
        """The kernel is the full filter already."""
        return kernel
