"""A layer whose weights carry multiplicative Gaussian noise: mean, scale, and the draw in force.

The paper's equation 1: every weight theta becomes theta * (1 + sigma * eps) with eps ~ N(0, 1). Theta and sigma
are both trained. What eps is, is decided by the layer's mode, which has nothing to do with `.train()`/`.eval()`:

- `"mean"`: no noise, eps = 0.
- `"resample"`: fresh noise in every forward, from torch's global generator as dropout does; for fitting.
- `"hold"`: one draw, kept until the next one; for acting and dreaming. The perturbed kernel is computed once, when
  the draw is made, and is a constant: gradients reach the input but not theta or sigma, and later changes of theta
  or sigma (an optimiser step, a loaded state dict) show only after `hold` or `draw` has been called again.

`evade.layers.posterior` switches whole networks between the modes.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError

Mode = Literal["mean", "resample", "hold"]
Init = Literal["identity", "random"]


class Situation(NamedTuple):
    """How a noisy layer stands: its mode and the draw it remembers."""

    mode: Mode
    has_draw: bool
    num_draws: int | None
    noise: Tensor
    held_kernel: Tensor


def perturb(weight: Tensor, sigma: Tensor, noise: Tensor) -> Tensor:
    """Equation 1: `weight * (1 + sigma * noise)`; `noise` may have a leading sample axis."""
    return weight * (1 + sigma * noise)


class NoisyLayer(nn.Module, ABC):
    """Base of all noisy layers: owns sigma, the mode and the held draw; a subclass owns the convolution.

    A subclass's constructor calls this one, sets what `kernel` needs, then calls `add_noise` (and keeps `weight` as
    a parameter, unless it borrows it).

    Args:
        channels: channels of the input, at least 1, checked at every call.
    """

    sigma: nn.Parameter
    noise: Tensor
    held_kernel: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels < 1:
            raise LayerError(f"channels = {channels} is not possible: a layer needs at least 1 channel.")
        self.channels = channels
        self.mode: Mode = "resample"
        self.num_draws: int | None = None
        self.has_draw = False

    def add_noise(self, sigma_init: float) -> None:
        """Create one sigma for each weight, and the buffers of the held draw."""
        if not (math.isfinite(sigma_init) and sigma_init >= 0):
            raise LayerError(f"sigma_init = {sigma_init} is not possible: give a finite number, zero or above.")
        weight = self.mean_weight().detach()
        self.sigma = nn.Parameter(torch.full_like(weight, sigma_init))
        # Buffers that always hold a tensor (a switch between None and tensor would break torch.compile), and that
        # stay out of the state dict: a draw is saved by whoever owns it, as a value.
        self.register_buffer("noise", torch.zeros_like(weight), persistent=False)
        self.register_buffer("held_kernel", self.kernel(weight).clone(), persistent=False)

    @abstractmethod
    def mean_weight(self) -> Tensor:
        """The trainable weights without noise, in the shape they are stored in."""

    @abstractmethod
    def kernel(self, weight: Tensor) -> Tensor:
        """The stored weights as the kernel that `convolve` takes."""

    @abstractmethod
    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Apply a kernel to `[B, C, H, W]` (or `[C, H, W]`)."""

    @abstractmethod
    def expand(self, kernel: Tensor) -> Tensor:
        """A kernel as the full convolution filter, zeros included."""

    def dense_weight(self) -> Tensor:
        """The full filter in force: of the held draw in hold mode, of the mean otherwise.

        Returns:
            `[C_out, C_in, m, m]` as `nn.Conv2d` stores it (`[C_in, C_out, m, m]` for a transposed convolution), with
            a leading sample axis if several draws are held.
        """
        if self.mode != "hold":
            return self.expand(self.kernel(self.mean_weight()))
        if self.num_draws is None:
            return self.expand(self.held_kernel)
        return torch.stack([self.expand(kernel) for kernel in self.held_kernel])

    def set_draw(self, noise: Tensor) -> None:
        """Hold a draw: keep its noise and compute the perturbed kernel, once.

        Args:
            noise: eps in the shape of the weights, or with a leading sample axis `[S, ...]` for one draw for each
                of S equal parts of the batch.
        """
        weight = self.mean_weight()
        if noise.shape[-weight.dim() :] != weight.shape or noise.dim() > weight.dim() + 1:
            raise LayerError(
                f"a draw of shape {tuple(noise.shape)} does not fit weights of shape {tuple(weight.shape)}: "
                f"use a draw made for this network."
            )
        several = noise.dim() > weight.dim()
        # Inference mode is left so that a draw made inside it can still be replaced outside.
        with torch.inference_mode(False), torch.no_grad():
            noise = noise.clone().to(device=weight.device, dtype=weight.dtype)
            perturbed = perturb(weight.detach(), self.sigma.detach(), noise)
            if not torch.isfinite(perturbed).all():
                raise LayerError(
                    f"{type(self).__name__} has weights, sigmas or noise that are not finite, so nothing can be "
                    f"drawn from it: go back to the last good checkpoint."
                )
            kernel = torch.stack([self.kernel(one) for one in perturbed]) if several else self.kernel(perturbed)
            self._assign("noise", noise)
            self._assign("held_kernel", kernel)
        self.num_draws = len(noise) if several else None
        self.has_draw = True
        self.mode = "hold"

    def situation(self) -> Situation:
        """A copy of mode and draw, to return to."""
        return Situation(self.mode, self.has_draw, self.num_draws, self.noise.clone(), self.held_kernel.clone())

    def return_to(self, situation: Situation) -> None:
        """Bring back an earlier mode and draw, down to the held kernel."""
        self._assign("noise", situation.noise)
        self._assign("held_kernel", situation.held_kernel)
        self.mode, self.has_draw, self.num_draws = situation.mode, situation.has_draw, situation.num_draws

    def _assign(self, name: str, value: Tensor) -> None:
        # In place where possible: captured and compiled graphs keep the tensors they were made with.
        buffer: Tensor = getattr(self, name)
        if buffer.shape == value.shape:
            buffer.copy_(value)
        else:
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve with the weights the mode calls for; shape and dtype of `[B, C, H, W]` are those of the input."""
        self._check(x)
        if self.mode == "hold":
            if self.num_draws is None:
                return self.convolve(x, self.held_kernel)
            parts = x.reshape(self.num_draws, -1, *x.shape[1:])
            each: Tensor = torch.func.vmap(self.convolve)(parts, self.held_kernel)
            return each.flatten(0, 1)
        weight = self.mean_weight()
        if self.mode == "resample":
            weight = perturb(weight, self.sigma, torch.randn_like(weight))
        return self.convolve(x, self.kernel(weight))

    def _check(self, x: Tensor) -> None:
        if x.dim() not in (3, 4) or x.shape[-3] != self.channels:
            raise LayerError(
                f"{type(self).__name__} was made for {self.channels} channels, but the input has shape "
                f"{tuple(x.shape)}: give [batch, {self.channels}, height, width]."
            )
        if self.mode == "hold" and self.num_draws is not None and (x.dim() == 3 or x.shape[0] % self.num_draws):
            raise LayerError(
                f"{self.num_draws} draws are held, but the input has shape {tuple(x.shape)}: "
                f"the batch must be a multiple of {self.num_draws}."
            )

    def extra_repr(self) -> str:
        """What `print(layer)` shows inside the brackets."""
        return f"{self.channels}, weight * (1 + sigma * eps), mode={self.mode}"


def initial_weight(init: Init, identity: Tensor, fan_in: int) -> nn.Parameter:
    """The first mean weights of an event layer.

    Args:
        init: `"identity"`, or `"random"` for uniform in plus or minus 1 / sqrt(fan_in) as `nn.Conv2d` starts.
        identity: the weights that pass the input through unchanged.
        fan_in: how many trainable weights reach one output value.
    """
    if init == "identity":
        return nn.Parameter(identity)
    if init == "random":
        bound = 1 / math.sqrt(fan_in)
        return nn.Parameter(torch.empty_like(identity).uniform_(-bound, bound))
    raise LayerError(f"init = {init!r} is not possible: choose 'identity' or 'random'.")
