"""What a posterior does: do its draws disagree about what was never seen, and agree about what was?

Everything here works on any `WorldModel` whose draws `evade.layers` can make.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from evade.interfaces import Environment, Policy, WorldModel
from evade.layers import Draw, draw, hold, use_mean
from evade.policies.acting import act
from evade.records import Transitions

LEAST_MEMBERS = 5
"""Events below which a group is left out."""

BATCH_SIZE = 64
"""Steps whose rewards are predicted at a time."""


@torch.no_grad()
def rewards_under_draws(model: WorldModel, draws: Sequence[Draw], observation: Tensor, action: Tensor) -> Tensor:
    """Expected rewards of B steps under each of D draws, float32 `[D, B]`; the model's own draw comes back.

    Args:
        model: in evaluation mode.
        draws: of this model.
        observation: uint8 `[B, K, C, H, W]` on the model's device.
        action: int64 `[B]`.
    """
    rows = []
    with use_mean(model):
        for value in draws:
            with hold(model, value):
                rows.append(expected_rewards(model, observation, action))
    return torch.stack(rows)


@torch.no_grad()
def expected_rewards(model: WorldModel, observation: Tensor, action: Tensor) -> Tensor:
    """Expected rewards of B steps in the model's present mode, float32 `[B]`."""
    parts = []
    for begin in range(0, len(action), BATCH_SIZE):
        inputs = observation[begin : begin + BATCH_SIZE], action[begin : begin + BATCH_SIZE]
        noise = model.sample_noise(len(inputs[1]), torch.Generator(action.device).manual_seed(0))
        parts.append(model.expected_reward(*inputs, model.initial_memory(inputs[0]), noise))
    return torch.cat(parts)


def sample_draws(model: WorldModel, count: int, generator: torch.Generator) -> list[Draw]:
    """Several draws of a model; the one it holds comes back."""
    with use_mean(model):
        return [draw(model, generator) for _ in range(count)]


@torch.no_grad()
def dream_steps(policy: Policy, env: Environment, num_steps: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Whole observations `[T * N, K, C, H, W]` and actions `[T * N]` of a policy in dreams, to ask draws about."""
    observations, actions = [], []
    observation = env.reset()
    for _ in range(num_steps):
        action = act(policy, observation, 1.0, generator).action
        observations.append(observation)
        actions.append(action)
        observation = env.step(action).observation
    return torch.cat(observations), torch.cat(actions)


def disagreement(rewards: Tensor, mean: Tensor) -> Tensor:
    """How much draws differ in more than a common scale: the root mean square of the rest, a scalar.

    Multiplying all rewards by one factor changes no policy, so each draw's rewards are first fitted by a multiple of
    the mean model's, and only the rest counts.

    Args:
        rewards: `[D, B]`, under each draw.
        mean: `[B]`, of the mean model.
    """
    scale = (rewards @ mean) / mean.square().sum().clamp_min(torch.finfo(mean.dtype).tiny)
    rest = rewards - scale.unsqueeze(1) * mean
    return (rest - rest.mean(0)).square().mean().sqrt()


def detection_auc(unseen: Tensor, ordinary: Tensor) -> float:
    """How often an unseen event has the larger spread: the area under the curve of a detector; ties count one half.

    Args:
        unseen: `[M]`, the spread over draws of each unseen event.
        ordinary: `[N]`, of each ordinary step.
    """
    ranked = ordinary.sort().values
    below = torch.searchsorted(ranked, unseen, right=False)
    up_to = torch.searchsorted(ranked, unseen, right=True)
    return ((below + up_to).double() / (2 * len(ranked))).mean().item()


@dataclass(frozen=True)
class EventGroup:
    """What draws say of some of the events."""

    name: str
    count: int
    mean: float
    spread: float


@dataclass(frozen=True)
class Sighting:
    """What draws say of a kind of event after it has been seen some number of times."""

    num_seen: int
    """Transitions with the event that the model was fitted to."""
    mean: float
    """Expected reward of held-out events under the mean model, averaged."""
    truth: float
    """What the game paid for them, averaged."""
    spread: float
    """Standard deviation over draws of the expected reward of an event, averaged over held-out events."""
    ordinary_spread: float
    """The same for ordinary steps that were not fitted to either."""
    auc: float
    """`detection_auc` of the two."""
    ordinary_error: float
    """Mean distance of the mean model's expected reward from the truth on those ordinary steps."""
    groups: tuple[EventGroup, ...] = ()
    """The events by reward, by the objects that met, and by place."""


def compare_draws(
    model: WorldModel, draws: Sequence[Draw], events: Transitions, ordinary: Transitions, num_seen: int
) -> Sighting:
    """Ask draws about events and about ordinary steps, none of which the model was fitted to."""
    of_events = rewards_under_draws(model, draws, events.observation, events.action)
    of_ordinary = rewards_under_draws(model, draws, ordinary.observation, ordinary.action)
    with use_mean(model):
        mean = expected_rewards(model, events.observation, events.action)
        ordinary_mean = expected_rewards(model, ordinary.observation, ordinary.action)
    spread, ordinary_spread = of_events.std(0), of_ordinary.std(0)
    groups = [
        EventGroup(name, int(members.sum()), mean[members].mean().item(), spread[members].mean().item())
        for name, members in group_events(events).items()
    ]
    return Sighting(
        num_seen=num_seen,
        mean=mean.mean().item(),
        truth=events.reward.float().mean().item(),
        spread=spread.mean().item(),
        ordinary_spread=ordinary_spread.mean().item(),
        auc=detection_auc(spread, ordinary_spread),
        ordinary_error=(ordinary_mean - ordinary.reward).abs().mean().item(),
        groups=tuple(groups),
    )


def group_events(events: Transitions) -> dict[str, Tensor]:
    """Events by their reward and, in grids of objects, by which channels met and where channel 0 was.

    Returns:
        By name, which events belong to the group, bool `[M]`; groups of fewer than `LEAST_MEMBERS` are left out.
    """
    groups = {f"reward {reward:+d}": events.reward == reward for reward in sorted(set(events.reward.tolist()))}
    frame = events.observation[:, -1].float()
    if frame.max() <= 1:
        near = F.max_pool2d(frame, 3, stride=1, padding=1)
        met = torch.einsum("bihw,bjhw->bij", frame, near) > 0
        channels = range(frame.shape[1])
        groups |= {f"channels {i} and {j} meet": met[:, i, j] for i in channels for j in channels if i < j}
        thirds = F.adaptive_max_pool2d(frame[:, :1], 3).flatten(1) > 0
        places = [
            f"channel 0 {row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "centre", "right")
        ]
        groups |= dict(zip(places, thirds.unbind(1), strict=True))
    return {name: members for name, members in groups.items() if members.sum() >= LEAST_MEMBERS}


def compare_policies(one: Policy, other: Policy, observation: Tensor) -> float:
    """How differently two policies act: the mean total variation distance of their action probabilities, 0 to 1.

    Args:
        one: a policy.
        other: another one for the same game.
        observation: uint8 `[B, K, C, H, W]`, where to compare them.
    """
    with torch.no_grad():
        probabilities = [torch.softmax(policy(observation).logits, -1) for policy in (one, other)]
    return (probabilities[0] - probabilities[1]).abs().sum(-1).mean().item() / 2
