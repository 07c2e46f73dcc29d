"""Rewards and ends as sums over neighbourhoods: what happens in one place does not depend on the rest of the frame.

A head on pooled maps of a U-net may use everything in the frame and its history. Some rewards come by chance, with no
object that explains them, and such a head learns them by heart: in MinAtar's Asterix an empty grid paid 0.65 for moving
up and down in one column, and the policy went there (docs/decisions/0013-local-heads.md). Here the log-odds of a reward
are a sum over cells that have, had or will have an object. Each cell sees the 3 x 3 cells around it in the last two
frames and in the predicted one, what changes there, the action, and which kinds of objects there are at all. It sees no
coordinates; only the edge of the grid is visible.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evade.checks import require
from evade.layers import NoisyConv2d
from evade.world_models.blocks import ActionInjection, CellNorm, initialise, mix_channels
from evade.world_models.cell_convolutions import can_convolve, convolve_cells
from evade.world_models.cell_embeddings import can_embed, look_around
from evade.world_models.conversion import as_float
from evade.world_models.heads import build_event_layers
from evade.world_models.settings import RewardPathConfig

NUM_FRAMES = 2
"""Frames that a neighbourhood shows: enough to see how objects move."""

PASS_ON = nn.Identity()
"""In place of event layers."""

INITIAL_EVIDENCE = -4.0
"""Of one cell before fitting, before the softplus: 35 objects together then change the log-odds by 0.6."""

INITIAL_LOG_ODDS = -5.0
"""Of an event without an object, before fitting: fewer than one in a hundred."""


class LocalHeads(nn.Module):
    """Logits of the reward and of the end, from a 3x3 and a 1x1 convolution at full resolution.

    With event layers there is a second pass with the same weights, as in `RewardPath`: event layers before both
    convolutions, noise on the last one's kernel if the interaction layer is among them. Only the reward uses it.

    Args:
        config: the event layers and their initial weights and noise.
        channels: channels C of a frame.
        size: channels of the maps, and of the embedded action.
        lowest_reward: the reward of class 0.
        num_reward_classes: R.
        predicts_end: whether there are logits of the end.
    """

    num_transitions: Tensor
    """int64 scalar: how many transitions are fitted to."""

    def __init__(
        self,
        config: RewardPathConfig,
        *,
        channels: int,
        size: int,
        lowest_reward: int,
        num_reward_classes: int,
        predicts_end: bool,
    ) -> None:
        super().__init__()
        self.zero_class = -lowest_reward
        rule = f"must be False, because rewards from {lowest_reward} on do not include 0"
        require(0 <= self.zero_class < num_reward_classes, "world_model.local_heads", True, rule)
        self.embedding = nn.Conv2d((NUM_FRAMES + 3) * channels, size, 1)
        self.presence = nn.Linear(channels, size, bias=False)
        self.injection = ActionInjection(size, size)
        self.convolutions = nn.ModuleList([nn.Conv2d(size, size, 3, padding=1), nn.Conv2d(size, size, 1)])
        self.norm = CellNorm(size)
        self.reward = nn.Conv2d(size, num_reward_classes - 1, 1)
        self.end = nn.Conv2d(size, 1, 1) if predicts_end else None
        initialise(self)
        nn.init.normal_(self.embedding.bias, std=0.01)  # type: ignore[arg-type]  # it has a bias
        for head in (self.reward, self.end):
            if head is not None:
                nn.init.constant_(head.bias, INITIAL_EVIDENCE)  # type: ignore[arg-type]  # it has a bias
        self.register_buffer("num_transitions", torch.zeros((), dtype=torch.long))
        self.no_object = nn.Parameter(torch.full((num_reward_classes - 1 + predicts_end,), INITIAL_LOG_ODDS))
        self.events = nn.ModuleDict()
        self.last_convolution = None
        if config.event_layers:
            for stage in range(1, len(self.convolutions) + 1):
                self.events[f"local{stage}"] = build_event_layers(size, config)
        if "interaction" in config.event_layers:
            source = self.convolutions[-1]
            assert isinstance(source, nn.Conv2d)
            self.last_convolution = NoisyConv2d(
                source, sigma_init=config.sigma_init, borrow_weight=config.share_last_stage
            )

    def forward(self, observation: Tensor, predicted: Tensor, action: Tensor) -> tuple[Tensor, Tensor | None]:
        """Logits of the reward, float32 `[B, R]`, and of the end, float32 `[B]`.

        Args:
            observation: uint8 `[B, K, C, H, W]` of 0 and 1, with K at least 2.
            predicted: `[B, C, H, W]`, the probability that each cell of the next frame is on.
            action: embedded, `[B, size]`.
        """
        x, has_object = self._look(observation, predicted, action)
        end, last_map = None, None
        if self.end is not None:
            last_map = self._convolve(x)
            end = _add_evidence(self.end, last_map, has_object, self.no_object[-1:]).squeeze(1)
        if self.events:
            last_map = self._convolve(x, list(self.events.values()))
        elif last_map is None:
            last_map = self._convolve(x)
        paid = _add_evidence(self.reward, last_map, has_object, self.no_object[: self.reward.out_channels])
        none = torch.zeros_like(paid[:, :1])
        return torch.cat([paid[:, : self.zero_class], none, paid[:, self.zero_class :]], 1), end

    def _look(self, observation: Tensor, predicted: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """The map `[B, size, H, W]` that the convolutions see, and where objects are, bool `[B, H, W]`."""
        size = self.embedding.out_channels
        weight, bias = self.embedding.weight.flatten(1), self.embedding.bias
        if can_embed(observation, size) and predicted.dtype == torch.float32 and bias is not None:
            coefficients = self.injection.coefficients(action)
            cells, has_object = look_around(
                observation[:, -NUM_FRAMES:], predicted, weight, bias, self.presence.weight, *coefficients
            )
            return cells.permute(0, 3, 1, 2), has_object
        recent = as_float(observation[:, -NUM_FRAMES:]).flatten(1, 2).to(action.dtype)
        last = recent[:, -predicted.shape[1] :]
        # What appears and what vanishes is most of what pays, and otherwise the network has to find these products.
        changes = [predicted * (1 - last), last * (1 - predicted)]
        seen = torch.cat([recent, predicted, *changes], 1)
        cells = mix_channels(seen.permute(0, 2, 3, 1), weight, bias)
        cells = cells + self.presence(last.amax((2, 3)))[:, None, None]
        has_object = (recent.amax(1) > 0) | (predicted.amax(1) > 0.5)
        return self.injection(cells.permute(0, 3, 1, 2), action), has_object

    def kernels(self) -> list[nn.Parameter]:
        """All weights that multiply something, without biases, norms and event layers: what is decayed."""
        modules = [self.embedding, self.presence, *self.injection.children(), *self.convolutions, self.reward, self.end]
        weights = [module.weight for module in modules if isinstance(module, nn.Conv2d | nn.Linear)]
        return [weight for weight in weights if isinstance(weight, nn.Parameter)]

    def _convolve(self, x: Tensor, events: list[nn.Module] | None = None) -> Tensor:
        """Both convolutions, each with a residual connection; with event layers, their second pass.

        Only the last convolution sees its input normed: what passes by it keeps its size, so that one object more or
        less is as visible among many as alone.
        """
        first, last = self.convolutions
        before_first, before_last = events or [PASS_ON, PASS_ON]
        if events and self.last_convolution is not None:
            last = self.last_convolution
        x = before_first(x)
        convolved = convolve_cells(first, x, residual=x) if can_convolve(first, x) else x + F.relu(first(x))
        x = before_last(convolved)
        if can_convolve(last, x):
            return convolve_cells(last, x, residual=x, norm=self.norm, norms_input=True)
        return x + F.relu(last(self.norm(x)))


def _add_evidence(head: nn.Conv2d, last_map: Tensor, has_object: Tensor, no_object: Tensor) -> Tensor:
    """The log-odds of events, float32 `[B, N]`: what all objects add to those of an event without an object.

    An object speaks for an event or says nothing. Its gradient does not depend on the other objects: with a sum of odds
    instead, the first one that explains a reward takes nearly all of it, and a better explanation is never found.

    Args:
        head: the 1x1 convolution that gives each cell's evidence for N events, of any sign before the softplus.
        last_map: `[B, size, H, W]`.
        has_object: bool `[B, H, W]`; other cells say nothing.
        no_object: `[N]`, the log-odds without an object.
    """
    # A product of cells: torch.compile copies the map into another layout for a convolution to one channel.
    evidence = F.linear(last_map.permute(0, 2, 3, 1), head.weight.flatten(1), head.bias)
    of_objects = F.softplus(evidence.float()).masked_fill(~has_object.unsqueeze(3), 0.0)
    return of_objects.sum((1, 2)) + no_object.float()
