"""Draw, hold, use the mean: the noisy layers of any network switched together.

Every function takes a whole network and acts on all noisy layers in it, in the order the network lists its
modules. `hold`, `use_mean` and `resample` act at once and may also stand in a `with` statement, after which every
layer is as it was before:

    draw(model, generator)              # one Thompson draw, held until the next
    with use_mean(model): ...           # look at the mean in between; the draw comes back afterwards
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol

import torch
from torch import Tensor, nn

from evade.layers.errors import LayerError
from evade.layers.noise import Mode, NoisyLayer


class HasModules(Protocol):
    """Any `nn.Module`, or whatever else lists its modules as one does."""

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        """All modules by name."""
        ...


class Draw(Mapping[str, Tensor]):
    """The noise of one draw as a value: eps for each noisy layer, by the layer's name in the network.

    Two draws are equal if they name the same layers with exactly the same numbers. The tensors are the draw's own,
    on the CPU; changing the network does not change them.
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
    def load(cls, path: str | Path) -> "Draw":
        """Read a draw written by `save`; nothing in the file is executed."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return cls(load_file(path))
        except (SafetensorError, OSError) as error:
            raise LayerError(f"{path} is not a readable draw ({error}): give a file written by Draw.save.") from error


class Switch:
    """What a mode switch returns: leaving a `with` block over it brings back how every layer was before."""

    def __init__(self, model: HasModules) -> None:
        self._before = [(layer, layer.situation()) for layer in noisy_layers(model).values()]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for layer, situation in self._before:
            layer.return_to(situation)


def noisy_layers(model: HasModules) -> dict[str, NoisyLayer]:
    """All noisy layers of a network by name; a `torch.compile` wrapper does not change the names."""
    return {
        name.replace("_orig_mod.", ""): module
        for name, module in model.named_modules()
        if isinstance(module, NoisyLayer)
    }


def draw(model: HasModules, generator: torch.Generator | None = None, samples: int | None = None) -> Draw:
    """Draw from the posterior and hold the draw (Algorithm 1: "draw a sample from the posterior").

    The noise depends on the generator and the network's structure alone, not on what the layers did before, nor on
    their device or dtype.

    Args:
        model: any network; one without noisy layers gives an empty draw.
        generator: where the noise comes from; torch's global one if None.
        samples: None for one draw for the whole batch; S for S independent draws at once, the first for the first
            1/S of every batch and so on (one for each environment of a batch of S).

    Returns:
        The draw as a value, to keep, save, compare, or hold again with `hold(model, value)`.
    """
    if samples is not None and samples < 1:
        raise LayerError(f"samples = {samples} is not possible: make at least 1 draw.")
    leading = () if samples is None else (samples,)
    device = None if generator is None else generator.device
    noise = {
        # Always float32: the same generator then gives the same draw to a network of any dtype.
        name: torch.randn((*leading, *layer.sigma.shape), generator=generator, device=device, dtype=torch.float32)
        for name, layer in noisy_layers(model).items()
    }
    value = Draw(noise)
    hold(model, value)
    return value


def current_draw(model: HasModules) -> Draw:
    """The draw last held, as a value; in mean and resample mode it is still remembered."""
    layers = noisy_layers(model)
    without = [name for name, layer in layers.items() if not layer.has_draw]
    if without:
        raise LayerError(f"nothing has been drawn yet for {', '.join(without)}: call draw(model, generator) first.")
    return Draw({name: layer.noise for name, layer in layers.items()})


def hold(model: HasModules, value: Draw | None = None) -> Switch:
    """Hold a draw: the one given, or the one last held, with the network's weights as they are now."""
    value = current_draw(model) if value is None else value
    layers = noisy_layers(model)
    if layers.keys() != value.keys():
        raise LayerError(
            f"the draw belongs to another network: it lacks {sorted(layers.keys() - value.keys())} and has "
            f"{sorted(value.keys() - layers.keys())} in addition."
        )
    before = Switch(model)
    for name, layer in layers.items():
        layer.set_draw(value[name])
    return before


def use_mean(model: HasModules) -> Switch:
    """Switch all noise off: every noisy layer applies its mean weights."""
    return _switch(model, "mean")


def resample(model: HasModules) -> Switch:
    """Fresh noise in every forward, for fitting."""
    return _switch(model, "resample")


def _switch(model: HasModules, mode: Mode) -> Switch:
    before = Switch(model)
    for layer in noisy_layers(model).values():
        layer.mode = mode
    return before


def mean_sigma(model: HasModules) -> dict[str, float]:
    """How noisy each layer is: the mean absolute sigma, by layer name."""
    return {name: layer.sigma.detach().abs().mean().item() for name, layer in noisy_layers(model).items()}


def kl_divergence(model: HasModules) -> Tensor:
    """KL divergence of the weights' distribution from a log-uniform prior, summed over all noisy weights.

    With that prior the divergence depends on sigma alone (Kingma et al. 2015); the approximation and its constants
    are Molchanov et al. 2017, equation 14. It falls as sigma grows, so adding it to a loss keeps noise alive that
    the data do not speak against. Differentiable; zero for a network without noisy layers.
    """
    k1, k2, k3 = 0.63576, 1.87320, 1.48695
    total = torch.zeros(())
    for layer in noisy_layers(model).values():
        variance = layer.sigma.square() + torch.finfo(layer.sigma.dtype).tiny
        negative = k1 * torch.sigmoid(k2 + k3 * variance.log()) - 0.5 * torch.log1p(1 / variance) - k1
        total = total.to(negative.device) - negative.sum()
    return total
