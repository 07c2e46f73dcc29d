"""A noisy convolution that borrows another module's weights (paper, section 3.5: the reward path's last stage)."""

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError
from evade.layers.noise import NoisyLayer


class NoisyConv2d(NoisyLayer):
    """The convolution of another module, with noise on its kernel; the other module stays as it is.

    Both see the same weights, so training one trains the other; only the sigmas belong to this layer. The bias, if
    there is one, is borrowed without noise.

    Args:
        source: a `nn.Conv2d` or `nn.ConvTranspose2d` with zero padding. It is referred to, not registered: it must
            live elsewhere in the same network, which then also moves, saves and copies it.
        sigma_init: initial relative noise of every weight.
        borrow_weight: False gives this layer a kernel of its own, which starts as a copy of the source's.
    """

    weight: nn.Parameter | None

    def __init__(
        self, source: nn.Conv2d | nn.ConvTranspose2d, *, sigma_init: float = 0.1, borrow_weight: bool = True
    ) -> None:
        if not isinstance(source, nn.Conv2d | nn.ConvTranspose2d):
            raise LayerError(
                f"a {type(source).__name__} has no kernel to borrow: give a nn.Conv2d or nn.ConvTranspose2d."
            )
        if source.padding_mode != "zeros":
            raise LayerError(f"padding_mode = {source.padding_mode!r} is not supported: use 'zeros'.")
        super().__init__(source.in_channels)
        # Inside a tuple so that torch does not register it a second time.
        self._source = (source,)
        self.register_parameter("weight", None if borrow_weight else nn.Parameter(source.weight.detach().clone()))
        self.add_noise(sigma_init)

    @property
    def source(self) -> nn.Conv2d | nn.ConvTranspose2d:
        """The module the weights are borrowed from."""
        return self._source[0]

    def mean_weight(self) -> Tensor:
        """The source's kernel as it is now, or this layer's own."""
        return self.source.weight if self.weight is None else self.weight

    def kernel(self, weight: Tensor) -> Tensor:
        """The weights are the kernel."""
        return weight

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """The source's own forward with another kernel."""
        convolved: Tensor = torch.func.functional_call(self.source, {"weight": kernel}, (x,))
        return convolved

    def expand(self, kernel: Tensor) -> Tensor:
        """The kernel has no zeros to add."""
        return kernel
