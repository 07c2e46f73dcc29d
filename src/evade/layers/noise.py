"""Base of the layers with multiplicative Gaussian noise on their weights: mean, sigma, and the current draw.

The paper's equation 1: every weight theta becomes theta * (1 + sigma * eps) with eps ~ N(0, 1). Theta and sigma
are both trained. The layer's mode, which is independent of `.train()`/`.eval()`, decides on eps:

- `"mean"`: no noise, eps = 0.
- `"resample"`: new noise in every forward, sampled from torch's global generator like dropout; for fitting.
- `"hold"`: one draw, kept until the next one; for acting and dreaming. The perturbed kernel is computed once, when
  the draw is set, and is a constant: gradients reach the input but not theta or sigma, and later changes of theta
  or sigma (an optimiser step, a loaded state dict) take effect only after another call of `hold` or `draw`.

`evade.layers.posterior` switches the mode of all noisy layers of a network.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError

Mode = Literal["mean", "resample", "hold"]
Init = Literal["identity", "random"]


class Snapshot(NamedTuple):
    """A copy of a noisy layer's mode and draw."""

    mode: Mode
    has_draw: bool
    num_draws: int | None
    noise: Tensor
    held_kernel: Tensor


def perturb(weight: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
    """Equation 1: `weight * (1 + sigma * noise)`; `noise` may have a leading axis of several draws."""
    return weight * (1 + sigma * noise)


class NoisyLayer(nn.Module, ABC):
    """Base of all noisy layers: holds sigma, the mode and the current draw; subclasses implement the convolution.

    A subclass's constructor calls this one, sets what `mean_weight` and `kernel` need, then calls `add_noise`.

    Args:
        channels: channels of the input, at least 1; checked in every forward.
    """

    sigma: Tensor
    noise: Tensor
    held_kernel: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels < 1:
            raise LayerError(f"Invalid channels = {channels}: must be at least 1.")
        self.channels = channels
        self.mode: Mode = "resample"
        self.num_draws: int | None = None
        self.has_draw = False

    def add_noise(self, sigma_init: float) -> None:
        """Create one sigma for each weight, and the buffers of the current draw."""
        if not (math.isfinite(sigma_init) and sigma_init >= 0):
            raise LayerError(f"Invalid sigma_init = {sigma_init}: must be finite and not negative.")
        weight = self.mean_weight().detach()
        self.sigma = nn.Parameter(torch.full_like(weight, sigma_init))
        # Always tensors, because changing between None and tensor would make torch.compile recompile; and not in the
        # state dict, because a draw is a value of its own (`Draw`), saved separately.
        self.register_buffer("noise", torch.zeros_like(weight), persistent=False)
        self.register_buffer("held_kernel", self.kernel(weight).clone(), persistent=False)

    @abstractmethod
    def mean_weight(self) -> Tensor:
        """The trainable weights without noise, in the shape of sigma."""

    @abstractmethod
    def kernel(self, weight: Tensor) -> Tensor:
        """From weights in the shape of `mean_weight` to the kernel that `convolve` takes."""

    @abstractmethod
    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Apply a kernel to `[B, C, H, W]` (or `[C, H, W]`)."""

    @abstractmethod
    def expand(self, kernel: Tensor) -> Tensor:
        """From a kernel to the full convolution filter, including fixed zeros."""

    def perturbed(self, noise: Tensor) -> Tensor:
        """The weights under noise in their shape, which may have a leading axis of several draws."""
        return perturb(self.mean_weight(), self.sigma, noise)

    def mean_noise(self) -> Tensor:
        """The noise under which the weights are their mean."""
        return torch.zeros_like(self.sigma)

    def dense_weight(self) -> Tensor:
        """The full convolution filter: of the current draw in hold mode, of the mean otherwise.

        Returns:
            `[C_out, C_in, m, m]` as `nn.Conv2d` stores it (`[C_in, C_out, m, m]` for a transposed convolution), with
            a leading axis if several draws are held.
        """
        if self.mode != "hold":
            return self.expand(self.kernel(self.mean_weight()))
        if self.num_draws is None:
            return self.expand(self.held_kernel)
        return torch.stack([self.expand(kernel) for kernel in self.held_kernel])

    def set_draw(self, noise: Tensor) -> None:
        """Hold a draw: store its noise and compute the perturbed kernel.

        Args:
            noise: eps in the shape of the weights; or with a leading axis `[S, ...]` for S draws, one for each of S
                equal parts of the batch.
        """
        weight = self.mean_weight()
        if noise.shape[-weight.dim() :] != weight.shape or noise.dim() > weight.dim() + 1:
            raise LayerError(
                f"Invalid draw of shape {tuple(noise.shape)}: must have the weights' shape {tuple(weight.shape)}, or "
                f"that with one leading axis. Use a draw of this network."
            )
        several = noise.dim() > weight.dim()
        # Inference mode is disabled, so that a draw made in it can be replaced outside of it.
        with torch.inference_mode(False), torch.no_grad():
            noise = noise.clone().to(device=weight.device, dtype=weight.dtype)
            perturbed = self.perturbed(noise)
            if not torch.isfinite(perturbed).all():
                raise LayerError(
                    f"Invalid weights, sigmas or noise of {type(self).__name__}: must be finite. Go back to the last "
                    f"good checkpoint."
                )
            kernel = torch.stack([self.kernel(one) for one in perturbed]) if several else self.kernel(perturbed)
            self._assign("noise", noise)
            self._assign("held_kernel", kernel)
        self.num_draws = len(noise) if several else None
        self.has_draw = True
        self.mode = "hold"

    def snapshot(self) -> Snapshot:
        """A copy of mode and draw, for `restore`."""
        return Snapshot(self.mode, self.has_draw, self.num_draws, self.noise.clone(), self.held_kernel.clone())

    def restore(self, snapshot: Snapshot) -> None:
        """Restore an earlier mode and draw, including the perturbed kernel."""
        self._assign("noise", snapshot.noise)
        self._assign("held_kernel", snapshot.held_kernel)
        self.mode, self.has_draw, self.num_draws = snapshot.mode, snapshot.has_draw, snapshot.num_draws

    def _assign(self, name: str, value: Tensor) -> None:
        # In place if possible, because captured and compiled graphs refer to the same tensors.
        buffer: Tensor = getattr(self, name)
        if buffer.shape == value.shape:
            buffer.copy_(value)
        else:
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve `[B, C, H, W]` (or `[C, H, W]`) with the weights of the current mode."""
        self._check(x)
        if self.mode == "hold":
            if self.num_draws is None:
                return self.convolve(x, self.held_kernel)
            parts = x.reshape(self.num_draws, -1, *x.shape[1:])
            each: Tensor = torch.func.vmap(self.convolve)(parts, self.held_kernel)
            return each.flatten(0, 1)
        weight = self.mean_weight()
        if self.mode == "resample":
            weight = self.perturbed(torch.randn_like(weight))
        return self.convolve(x, self.kernel(weight))

    def _check(self, x: Tensor) -> None:
        if x.dim() not in (3, 4) or x.shape[-3] != self.channels:
            raise LayerError(
                f"Invalid input of shape {tuple(x.shape)} for {type(self).__name__}: must be "
                f"[batch, {self.channels}, height, width]."
            )
        if not x.is_floating_point():
            raise LayerError(
                f"Invalid input of dtype {x.dtype} for {type(self).__name__}: must be floating point, because weights "
                f"would be rounded to whole numbers. Use x.float()."
            )
        if self.mode == "hold" and self.num_draws is not None and (x.dim() == 3 or x.shape[0] % self.num_draws):
            raise LayerError(
                f"Invalid input of shape {tuple(x.shape)}: {self.num_draws} draws are held, so the batch size must be "
                f"a multiple of {self.num_draws}."
            )

    def extra_repr(self) -> str:
        """Shown inside the brackets by `print(layer)`."""
        return f"{self.channels}, weight * (1 + sigma * eps), mode={self.mode}"


def initial_weight(init: Init, identity: Tensor, fan_in: int) -> nn.Parameter:
    """Initial mean weights of an event layer.

    Args:
        init: `"identity"`, or `"random"` for uniform in [-b, b] with b = 1 / sqrt(fan_in), as `nn.Conv2d`.
        identity: weights that pass the input through unchanged.
        fan_in: number of trainable weights per output value.
    """
    if init == "identity":
        return nn.Parameter(identity)
    if init == "random":
        bound = 1 / math.sqrt(fan_in)
        return nn.Parameter(torch.empty_like(identity).uniform_(-bound, bound))
    raise LayerError(f"Invalid init = {init!r}: must be 'identity' or 'random'.")
