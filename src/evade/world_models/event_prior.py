"""A prior over the rewards of events that have hardly been seen: what makes draws of the reward model disagree.

A reward classifier that has seen one class says so everywhere, under every draw of its event layers, so draws agree
about events that never happened. The prior adds to the network's expected reward r

    (1 - |r|) * scale * tanh(sum_k phi_k(s, a, s') * sigma_k * eps_k),    sigma_k = 1 / (1 + n_k / patience)

where eps ~ N(optimism, I), phi_k is 1 if event k happens in the step from s to the predicted frame s' and n_k counts
the real transitions in which it happened. It acts like Bayesian linear regression on indicators of events with a
diagonal posterior: draws disagree about an event until it has been seen a few times, and then leave its reward to the
network.
The events are those of EVaDE's three layers, and each kind exists only if its layer is in the reward path:

- interaction: two kinds of objects within one cell of each other in s', or in s under action a;
- translation: an object of s' within one cell of where one was in s;
- weighting: an object at a certain place of s', or of s under action a.

The edge of the grid counts as one more kind of object. Cells must be on or off.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from evade.layers import NoisyLayer
from evade.vocabulary.variants import EventLayer
from evade.world_models.conversion import as_float
from evade.world_models.event_sums import can_sum, count_events, sum_events

WINDOW = 3
"""Rows and columns of the window in which two objects meet."""


class EventWeights(NamedTuple):
    """Weights of events by kind, None for a kind that does not exist; shapes and meanings as in `sum_events`."""

    met: Tensor | None
    met_now: Tensor | None
    moved: Tensor | None
    placed: Tensor | None
    placed_now: Tensor | None


class EventPrior(NoisyLayer):
    """Counts of events, and the held draw of their rewards.

    It is a noisy layer without a mean: `draw` and `hold` set its weights to sigma * eps, and in the other modes it adds
    nothing, so that the network alone is fitted. The counts are buffers and saved with the weights of the network.

    Args:
        event_layers: which kinds of events there are.
        channels: kinds of objects C.
        frame_size: rows and columns of the grid.
        num_actions: size of the action set.
        scale: the largest reward a draw adds or takes away.
        patience: the number of sightings after which sigma is one half.
        optimism: mean of eps.
    """

    counts: Tensor
    sigma: Tensor

    def __init__(
        self,
        event_layers: Sequence[EventLayer],
        *,
        channels: int,
        frame_size: tuple[int, int],
        num_actions: int,
        scale: float,
        patience: float,
        optimism: float = 0.0,
    ) -> None:
        super().__init__(channels)
        self.event_layers, self.frame_size, self.num_actions = tuple(event_layers), frame_size, num_actions
        self.scale, self.patience, self.optimism = scale, patience, optimism
        self._has_loop = can_sum(channels)
        num_pairs = channels * (channels + 1) * WINDOW**2
        sizes = {
            "interaction": (1 + num_actions) * num_pairs,
            "translation": num_pairs,
            "weighting": (1 + num_actions) * channels * frame_size[0] * frame_size[1],
        }
        self._sizes = [(name, sizes[name]) for name in self.event_layers]
        num_events = sum(size for _, size in self._sizes)
        self.register_buffer("counts", torch.zeros(num_events))
        self.register_buffer("sigma", torch.ones(num_events))
        self.register_buffer("noise", torch.zeros(num_events), persistent=False)
        self.register_buffer("held_kernel", torch.zeros(num_events), persistent=False)

    @torch.no_grad()
    def observe(self, now: Tensor, action: Tensor, then: Tensor, predicted: Tensor, is_rewarded: Tensor) -> None:
        """Count the events of real transitions, each to be given once.

        An event counts if it happened or if the model predicted it: otherwise events that only ever happen in dreams
        would stay unknown for ever. What met when a reward came counts under every action, because the reward explains
        the meeting and not the action.

        Args:
            now: uint8 `[B, C, H, W]`, the last frame of the observation.
            action: int64 `[B]`.
            then: uint8 `[B, C, H, W]`, the frame that followed.
            predicted: uint8 `[B, C, H, W]`, the frame that the model predicts.
            is_rewarded: bool `[B]`, whether the reward was not 0.
        """
        taken = F.one_hot(action, self.num_actions).bool() | is_rewarded.unsqueeze(1)
        if self._has_loop and now.device.type == "cpu":
            count_events(now, taken, then, predicted, self.counts, self._split(self.counts))
        else:
            happened = torch.maximum(self.find_events(now, taken, then), self.find_events(now, taken, predicted))
            self.counts += happened.sum(0)
        self.sigma.copy_(1 / (1 + self.counts / self.patience))

    def find_events(self, now: Tensor, taken: Tensor, then: Tensor) -> Tensor:
        """Which events happen in a step, float32 `[B, events]` of 0 and 1.

        Args:
            now: uint8 `[B, C, H, W]`.
            taken: bool `[B, A]`, the actions that events of the present frame count under.
            then: uint8 `[B, C, H, W]`.
        """
        now, then = now.float(), then.float()
        parts = []
        for name, _ in self._sizes:
            if name == "interaction":
                parts += [_find_pairs(then, then), _by_action(_find_pairs(now, now), taken)]
            elif name == "translation":
                parts.append(_find_pairs(then, now))
            else:
                parts += [then.flatten(1), _by_action(now.flatten(1), taken)]
        return torch.cat(parts, 1)

    def forward(self, now: Tensor, action: Tensor, then: Tensor) -> Tensor:  # type: ignore[override] # a step, not a map
        """What the current draw adds to the expected reward, float32 `[B]`; 0 in mean and resample mode.

        Faster than listing the events. One that happens several times in a step counts several times here and once in
        `find_events`.
        """
        if self.mode != "hold":
            return torch.zeros(len(action), device=action.device)
        if self.num_draws is None:
            return self._evaluate(now, action, then, self.held_kernel)
        nows, actions, thens = (x.reshape(self.num_draws, -1, *x.shape[1:]) for x in (now, action, then))
        return torch.cat([self._evaluate(*each) for each in zip(nows, actions, thens, self.held_kernel, strict=True)])

    def added_reward(self, reward: Tensor, now: Tensor, action: Tensor, then: Tensor) -> Tensor:
        """What the current draw of the prior adds to the expected rewards of the network, both `[B]`.

        Where the network expects a reward of 1 or -1 it has recognised an event, and the prior adds nothing.
        """
        added: Tensor = self(now, action, then)
        return (1 - reward.abs()).clamp_min(0) * added

    def _evaluate(self, now: Tensor, action: Tensor, then: Tensor, weight: Tensor) -> Tensor:
        weights = self._split(weight)
        if self._has_loop and now.device.type == "cpu":
            total: Tensor = sum_events(now, action, then, *weights)
        else:
            total = sum_densely(now, action, then, weights)
        return self.scale * torch.tanh(total)

    def _split(self, weight: Tensor) -> EventWeights:
        """The weights of a draw by kind of event."""
        pair_shape = (self.channels, self.channels + 1, WINDOW, WINDOW)
        place_shape = (self.channels, *self.frame_size)
        met = met_now = moved = placed = placed_now = None
        begin = 0
        for name, size in self._sizes:
            part, begin = weight[begin : begin + size], begin + size
            count = size // (1 + self.num_actions)
            if name == "interaction":
                met, met_now = part[:count].view(pair_shape), part[count:].view(-1, *pair_shape)
            elif name == "translation":
                moved = part.view(pair_shape)
            else:
                placed, placed_now = part[:count].view(place_shape), part[count:].view(-1, *place_shape)
        return EventWeights(met, met_now, moved, placed, placed_now)

    def sigma_images(self) -> dict[str, Tensor]:
        """Sigma by kind of event, as images; of the present frame's events the mean over actions.

        Returns:
            By name: of pairs `[C * 3, (C + 1) * 3]`, one 3 x 3 block for each kind of object (rows) and its neighbour
            (columns, the edge last); of places `[H, C * W]`, one grid for each kind of object beside the next.
        """
        images = {}
        begin = 0
        for name, size in self._sizes:
            part, begin = self.sigma[begin : begin + size], begin + size
            if name == "translation":
                images["translation"] = _tile_pairs(part, self.channels)
                continue
            tile = _tile_pairs if name == "interaction" else self._tile_places
            count = size // (1 + self.num_actions)
            images[f"{name}, predicted frame"] = tile(part[:count], self.channels)
            images[f"{name}, present frame"] = tile(part[count:].view(-1, count).mean(0), self.channels)
        return images

    def _tile_places(self, sigma: Tensor, channels: int) -> Tensor:
        return sigma.view(channels, *self.frame_size).transpose(0, 1).flatten(1)

    def mean_weight(self) -> Tensor:
        """Zero: the network's own prediction is the mean."""
        return torch.zeros_like(self.sigma)

    def perturbed(self, noise: Tensor) -> Tensor:
        """The weights of a draw: sigma * (optimism + noise)."""
        return self.sigma * (self.optimism + noise)

    def mean_noise(self) -> Tensor:
        """The noise that cancels the optimism, so that nothing is added."""
        return torch.full_like(self.sigma, -self.optimism)

    def kernel(self, weight: Tensor) -> Tensor:
        """The weights are used as they are."""
        return weight

    def expand(self, kernel: Tensor) -> Tensor:
        """The weights are used as they are."""
        return kernel

    def convolve(self, x: Tensor, kernel: Tensor) -> Tensor:
        """Not a map to a map: use `forward`."""
        raise AssertionError("the event prior works on steps")

    def extra_repr(self) -> str:
        """Shown inside the brackets by `print(layer)`."""
        return f"{', '.join(self.event_layers)}; {len(self.counts):,} events, scale={self.scale}, mode={self.mode}"


def sum_densely(now: Tensor, action: Tensor, then: Tensor, weights: EventWeights) -> Tensor:
    """What `sum_events` returns, by convolutions: on any device, and without a C++ compiler."""
    met, met_now, moved, placed, placed_now = weights
    now, then = as_float(now), as_float(then)
    total = now.new_zeros(len(now))
    if met is not None:
        total = total + (then * F.conv2d(_with_edge(then), met)).sum((1, 2, 3))
    if met_now is not None:
        # A product with each step's own weights: a convolution would be made for all actions.
        maps = torch.bmm(met_now.flatten(2)[action], F.unfold(_with_edge(now), WINDOW))
        total = total + (now.flatten(2) * maps).sum((1, 2))
    if moved is not None:
        total = total + (then * F.conv2d(_with_edge(now), moved)).sum((1, 2, 3))
    if placed is not None:
        total = total + then.flatten(1) @ placed.flatten()
    if placed_now is not None:
        total = total + (now.flatten(1) * placed_now.flatten(1)[action]).sum(1)
    return total


def _tile_pairs(sigma: Tensor, channels: int) -> Tensor:
    return sigma.view(channels, channels + 1, WINDOW, WINDOW).transpose(1, 2).flatten(2).flatten(0, 1)


def _with_edge(maps: Tensor) -> Tensor:
    """`[B, C, H, W]` to `[B, C + 1, H + 2, W + 2]`: padded, and one more channel that is on outside the grid."""
    pad = WINDOW // 2
    return torch.cat([F.pad(maps, (pad,) * 4), F.pad(torch.zeros_like(maps[:, :1]), (pad,) * 4, value=1.0)], 1)


def _by_action(events: Tensor, taken: Tensor) -> Tensor:
    """Events `[B, P]` under each action taken, `[B, A * P]`."""
    return (taken.to(events.dtype).unsqueeze(2) * events.unsqueeze(1)).flatten(1)


def _find_pairs(objects: Tensor, others: Tensor) -> Tensor:
    """Whether an object of kind i has one of kind j at offset d: `[B, C * (C + 1) * WINDOW ** 2]` of 0 and 1."""
    windows = F.unfold(_with_edge(others), WINDOW)
    return torch.bmm(objects.flatten(2), windows.transpose(1, 2)).clamp_(max=1).flatten(1)
