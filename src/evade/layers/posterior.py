"""Draw from the posterior, hold a draw, use the mean: for all noisy layers of a network at once.

Every function takes a network and acts on all noisy layers in it, in the order of `named_modules`. `hold`, `use_mean`
and `resample` take effect at once; used in a `with` statement, they restore the previous state of every layer at its
end:

    draw(model, generator)              # one Thompson draw, held until the next
    with use_mean(model): ...           # the mean inside the block; afterwards the draw again
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError
from evade.layers.noise import Mode, NoisyLayer

LARGEST_FILE = 1 << 28
"""Bytes of a draw file that are read unless more are allowed; a draw has four for each noisy weight and sample."""


class HasModules(Protocol):
    """Any `nn.Module`, or another object with its `named_modules`."""

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """All modules by name."""
        ...


class Draw(Mapping[str, Tensor]):
    """The noise of one draw: eps for each noisy layer, by the layer's name in the network.

    Two draws are equal if they have the same layers with exactly equal noise. The tensors are copies on the CPU;
    changing the network does not change them.
    """

    def __init__(self, noise: Mapping[str, Tensor]) -> None:
        self._noise = {name: eps.detach().clone().cpu().contiguous() for name, eps in noise.items()}

    def __getitem__(self, name: str) -> Tensor:
        return self._noise[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._noise)

    def __len__(self) -> int:
        return len(self._noise)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Draw):
            return NotImplemented
        return self.keys() == other.keys() and all(torch.equal(self[name], other[name]) for name in self)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {tuple(eps.shape)}" for name, eps in self.items())
        return f"Draw({shapes})"

    def save(self, path: str | Path) -> None:
        """Write the draw as a safetensors file."""
        from safetensors.torch import save_file

        save_file(self._noise, path)

    @classmethod
    def load(cls, path: str | Path, *, largest: int = LARGEST_FILE) -> "Draw":
        """Read a draw written by `save`; nothing in the file is executed.

        Args:
            path: a regular file, or a link to one.
            largest: bytes that it may have at most.

        Raises:
            LayerError: the file is missing, too large, not a regular file (a pipe is not waited for), or no draw.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            return cls(load(_read_regular(path, largest)))
        except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
            raise LayerError(f"Invalid draw file {path} ({error}): must be written by Draw.save.") from error


def _read_regular(path: str | Path, largest: int) -> bytes:
    """All bytes of a regular file. `evade.guarded` does this for run folders, but this folder stands alone."""
    # Without waiting, so that a pipe without a writer is seen to be one.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        if status.st_size > largest:
            raise ValueError(f"it has {status.st_size:,} bytes, and at most {largest:,} are read; largest= allows more")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(descriptor)


class Switch:
    """Returned by a mode switch: restores the previous mode and draw of every layer at the end of a `with` block."""

    def __init__(self, model: HasModules) -> None:
        self._before = [(layer, layer.snapshot()) for layer in noisy_layers(model).values()]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for layer, snapshot in self._before:
            layer.restore(snapshot)


def noisy_layers(model: HasModules) -> dict[str, NoisyLayer]:
    """All noisy layers of a network by name; names are the same for a network wrapped by `torch.compile`."""
    return {
        name.replace("_orig_mod.", ""): module
        for name, module in model.named_modules()
        if isinstance(module, NoisyLayer)
    }


def draw(model: HasModules, generator: torch.Generator | None = None, samples: int | None = None) -> Draw:
    """Draw from the posterior and hold the draw (Algorithm 1: "draw a sample from the posterior").

    The noise depends only on the generator and the network's structure, not on the layers' earlier state, device or
    dtype.

    Args:
        model: any network; one without noisy layers gives an empty draw.
        generator: samples the noise; torch's global one if None.
        samples: None for one draw for the whole batch; S for S independent draws, the first for the first 1/S of
            every batch and so on (one for each environment of a batch of S).

    Returns:
        The draw, to keep, save, compare, or hold again with `hold(model, value)`.
    """
    if samples is not None and samples < 1:
        raise LayerError(f"Invalid samples = {samples}: must be at least 1.")
    leading = () if samples is None else (samples,)
    device = None if generator is None else generator.device
    noise = {
        # Always float32, so that the same generator gives the same draw for a network of any dtype.
        name: torch.randn((*leading, *layer.sigma.shape), generator=generator, device=device, dtype=torch.float32)
        for name, layer in noisy_layers(model).items()
    }
    value = Draw(noise)
    hold(model, value)
    return value


def mean_draw(model: HasModules) -> Draw:
    """The draw under which every noisy layer has its mean weights.

    Held, it gives what `use_mean` gives. Code compiled while another draw was held can go on with it, because the mode
    is the same.
    """
    return Draw({name: layer.mean_noise() for name, layer in noisy_layers(model).items()})


def current_draw(model: HasModules) -> Draw:
    """The current draw, or in mean and resample mode the last one held."""
    layers = noisy_layers(model)
    without = [name for name, layer in layers.items() if not layer.has_draw]
    if without:
        raise LayerError(f"No current draw of {', '.join(without)}: call draw(model, generator) first.")
    return Draw({name: layer.noise for name, layer in layers.items()})


def hold(model: HasModules, value: Draw | None = None) -> Switch:
    """Hold a draw with the network's current weights: the one given, or the last one held if None."""
    value = current_draw(model) if value is None else value
    layers = noisy_layers(model)
    if layers.keys() != value.keys():
        raise LayerError(
            f"Invalid draw, made for another network: missing {sorted(layers.keys() - value.keys())}, unexpected "
            f"{sorted(value.keys() - layers.keys())}."
        )
    before = Switch(model)
    try:
        for name, layer in layers.items():
            layer.set_draw(value[name])
    except BaseException:
        before.__exit__(None, None, None)  # all layers hold the draw, or none
        raise
    return before


def use_mean(model: HasModules) -> Switch:
    """Turn all noise off: every noisy layer uses its mean weights."""
    return _switch(model, "mean")


def resample(model: HasModules) -> Switch:
    """Sample new noise in every forward, for fitting."""
    return _switch(model, "resample")


def _switch(model: HasModules, mode: Mode) -> Switch:
    before = Switch(model)
    for layer in noisy_layers(model).values():
        layer.mode = mode
    return before


def mean_sigma(model: HasModules) -> dict[str, float]:
    """The mean absolute sigma of each noisy layer, by name."""
    return {name: layer.sigma.detach().abs().mean().item() for name, layer in noisy_layers(model).items()}


def kl_divergence(model: HasModules) -> Tensor:
    """KL divergence of the weights' distribution from a log-uniform prior, summed over all trained noisy weights.

    With that prior the divergence depends only on sigma (Kingma et al. 2015); the approximation and its constants are
    those of Molchanov et al. 2017, equation 14. It falls as sigma grows, so adding it to a loss keeps sigma from
    shrinking where the data do not demand it. A differentiable scalar; zero for a network without noisy layers.
    """
    k1, k2, k3 = 0.63576, 1.87320, 1.48695
    total = torch.zeros(())
    for layer in noisy_layers(model).values():
        if not isinstance(layer.sigma, nn.Parameter):
            continue  # its sigma is not trained
        variance = layer.sigma.square() + torch.finfo(layer.sigma.dtype).tiny
        negative = k1 * torch.sigmoid(k2 + k3 * variance.log()) - 0.5 * torch.log1p(1 / variance) - k1
        total = total.to(negative.device) - negative.sum()
    return total
