"""A noisy convolution that shares another module's weights (paper, section 3.5: the reward path's last stage)."""

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError
from evade.layers.noise import NoisyLayer


class NoisyConv2d(NoisyLayer):
    """The convolution of another module with noise on its kernel; the other module itself stays without noise.

    Both use the same weights, so training one trains the other; only the sigmas belong to this layer. The bias, if
    there is one, is shared too and has no noise.

    Args:
        source: a `nn.Conv2d` or `nn.ConvTranspose2d` with zero padding. It is not registered as a submodule: it must be
            part of the same network, which moves, saves and copies it.
        sigma_init: initial relative noise of every weight.
        borrow_weight: False gives this layer its own kernel, initialised as a copy of the source's.
    """

    weight: nn.Parameter | None

    def __init__(
        self, source: nn.Conv2d | nn.ConvTranspose2d, *, sigma_init: float = 0.1, borrow_weight: bool = True
    ) -> None:
        if not isinstance(source, nn.Conv2d | nn.ConvTranspose2d):
            raise LayerError(
                f"Invalid source of type {type(source).__name__}: must be a nn.Conv2d or nn.ConvTranspose2d."
            )
        if source.padding_mode != "zeros":
            raise LayerError(f"Invalid source.padding_mode = {source.padding_mode!r}: must be 'zeros'.")
        super().__init__(source.in_channels)
        # In a tuple, so that torch does not register it as a submodule.
        self._source = (source,)
        self.register_parameter("weight", None if borrow_weight else nn.Parameter(source.weight.detach().clone()))
        self.add_noise(sigma_init)

    @property
    def source(self) -> nn.Conv2d | nn.ConvTranspose2d:
        """The module whose weights are shared."""
        return self._source[0]

    def mean_weight(self) -> Tensor:
        """The source's current kernel, or this layer's own."""
        return self.source.weight if self.weight is None else self.weight

    def kernel(self, weight: Tensor) -> Tensor:
        """The weights are the kernel."""
        return weight

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """The source's forward with another kernel, so that a subclass with a faster forward keeps its speed here."""
        convolved: Tensor = torch.func.functional_call(self.source, {"weight": kernel}, (x,))
        return convolved

    def expand(self, kernel: Tensor) -> Tensor:
        """The kernel is the full filter already."""
        return kernel
