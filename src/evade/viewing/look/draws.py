"""Named draws of a world model, and what they expect of one observation."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache

import torch
from torch import Tensor

from evade.errors import LookError
from evade.interfaces import WorldModel
from evade.layers import Draw, draw, hold, noisy_layers, use_mean
from evade.training.posterior import disagreement

MEAN, OWN = "mean", "own"
"""Names of the mean model and of the draw that the run last dreamt under; any other draw is called by its number."""

LARGEST_NUMBER = 2**31 - 1
MAX_DRAWS = 256
"""Most draws in one strip."""

CELLS_AT_ONCE = 10_000
"""Cells of frames whose rewards are predicted in one forward: some 50 ms, so that a key press need not wait long."""


class Posterior:
    """All draws of one model by name. Draw 17 is the one that a generator seeded with 17 gives.

    Args:
        model: in evaluation mode; left in mean mode.
        own: the draw that the run last dreamt under; empty if it has none yet.
    """

    def __init__(self, model: WorldModel, own: Draw) -> None:
        self.model = model
        self.exists = bool(noisy_layers(model))
        """Whether there are noisy layers, and so draws that can differ."""
        self.has_own = self.exists and len(own) > 0
        self._own = own
        self._sample = lru_cache(maxsize=2 * MAX_DRAWS)(self._draw_number)
        use_mean(model)

    def find(self, name: str) -> Draw:
        """A draw by its name."""
        if not self.exists:
            raise LookError("This run has no draws: its world model has no noisy layers.")
        if name == OWN and self.has_own:
            return self._own
        if not (name.isascii() and name.isdigit() and int(name) <= LARGEST_NUMBER):
            raise LookError(f"Unknown draw {name[:20]!r}: give a number from 0 to {LARGEST_NUMBER}.")
        return self._sample(int(name))

    def using(self, name: str) -> AbstractContextManager[None]:
        """Hold a draw, or use the mean, inside a `with` block."""
        return use_mean(self.model) if name == MEAN else hold(self.model, self.find(name))

    def holding(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Hold several draws at once, or the mean: the first for the first part of a batch, and so on."""
        if set(names) == {MEAN}:
            return use_mean(self.model)
        found = [self._no_noise() if name == MEAN else self.find(name) for name in names]
        return hold(self.model, Draw({layer: torch.stack([each[layer] for each in found]) for layer in found[0]}))

    def _no_noise(self) -> Draw:
        """The mean as a draw."""
        return Draw({layer: torch.zeros_like(noise) for layer, noise in self.find("0").items()})

    def _draw_number(self, number: int) -> Draw:
        with use_mean(self.model):
            return draw(self.model, torch.Generator().manual_seed(number))


@dataclass(frozen=True)
class Strip:
    """Expected rewards of all actions for one observation."""

    mean: Tensor
    """float32 `[A]`, under the mean model."""
    draws: Tensor
    """float32 `[D, A]`, under draws 0 to D - 1; D = 0 for a model without draws."""
    wanted: int
    """Draws that were asked for; D is smaller as long as not all are computed."""

    @property
    def spread(self) -> Tensor:
        """Standard deviation over draws of each action's reward, `[A]`; 0 for fewer than two draws."""
        return self.draws.std(0) if len(self.draws) > 1 else torch.zeros_like(self.mean)

    @property
    def total(self) -> float:
        """How much draws differ: the root mean square over draws and actions of the distance from their mean."""
        return (self.draws - self.draws.mean(0)).square().mean().sqrt().item() if len(self.draws) > 1 else 0.0

    @property
    def beyond_scale(self) -> float:
        """The part of `total` that is more than one common factor (`evade.training.posterior.disagreement`)."""
        return disagreement(self.draws, self.mean).item() if len(self.draws) > 1 else 0.0


@dataclass
class StripBuilder:
    """Rewards of one observation under more and more draws, computed in parts so that no answer takes long."""

    posterior: Posterior
    observation: Tensor
    """uint8 `[K, C, H, W]`."""
    num_actions: int
    _rows: list[Tensor] = field(default_factory=list)
    _mean: Tensor | None = None

    def extend(self, count: int) -> Strip:
        """Compute one more part of `count` draws; the strip is complete when it has `wanted` of them."""
        wanted = min(count, MAX_DRAWS) if self.posterior.exists else 0
        if self._mean is None:
            self._mean = self._rewards(1)[0]
        have = len(self._rows)
        cells = self.num_actions * self.observation.shape[-2] * self.observation.shape[-1]
        part = min(wanted - have, max(1, CELLS_AT_ONCE // cells))
        if part > 0:
            with self.posterior.holding([str(number) for number in range(have, have + part)]):
                self._rows += self._rewards(part).unbind(0)
        rows = self._rows[:wanted]
        draws = torch.stack(rows) if rows else torch.empty(0, self.num_actions)
        return Strip(self._mean, draws, wanted)

    @torch.no_grad()
    def _rewards(self, parts: int) -> Tensor:
        """In the model's present mode, `[parts, A]`."""
        model, size = self.posterior.model, parts * self.num_actions
        noise = model.sample_noise(size, torch.Generator().manual_seed(0))
        observations = self.observation.expand(size, *self.observation.shape)
        actions = torch.arange(self.num_actions).repeat(parts)
        rewards = model.expected_reward(observations, actions, model.initial_memory(observations), noise)
        return rewards.view(parts, self.num_actions)
