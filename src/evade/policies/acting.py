"""From observations to actions; all code that acts, in games and in dreams, uses `act`."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from evade.errors import ConfigError
from evade.interfaces import Policy
from evade.records import PolicyOutput


class Decision(NamedTuple):
    """The actions of a policy in B games."""

    action: Tensor
    """int64 `[B]`."""
    log_prob: Tensor
    """float32 `[B]`, of the action at the temperature it was sampled with (at temperature 0: of the policy itself)."""
    value: Tensor
    """float32 `[B]`, of the observation."""


def act(policy: Policy, observation: Tensor, temperature: float | Tensor, generator: torch.Generator) -> Decision:
    """Sample actions from the policy's probabilities taken to the power 1 / temperature.

    Args:
        policy: gives logits and values.
        observation: uint8 `[B, K, C, H, W]`.
        temperature: 1 for the policy itself, above 1 for more random actions, 0 for the most likely action; or one
            above 0 for each game, float32 `[B]`.
        generator: on the observation's device.
    """
    output = policy(observation)
    if isinstance(temperature, Tensor):
        output, temperature = output._replace(logits=output.logits / temperature.unsqueeze(1)), 1.0
    if not 0 <= temperature < float("inf"):
        raise ConfigError(f"Invalid temperature = {temperature}: must be finite and not negative.")
    action = choose_action(output.logits, temperature, generator)
    # At temperature 0 the action is certain; dividing by it would give NaN.
    log_probs = torch.log_softmax(output.logits / (temperature or 1.0), -1)
    return Decision(action, log_probs.gather(1, action.unsqueeze(1)).squeeze(1), output.value)


def choose_action(logits: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Sample actions, int64 `[B]`, from logits `[B, A]`; arguments as in `act`."""
    if temperature == 0:
        return logits.argmax(-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator).squeeze(1)


class RandomPolicy(nn.Module):
    """Chooses every action with equal probability; the baseline of normalised scores."""

    num_frames = 1

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions

    def forward(self, observation: Tensor) -> PolicyOutput:
        """Equal logits, value 0."""
        logits = torch.zeros(len(observation), self.num_actions, device=observation.device)
        return PolicyOutput(logits, logits[:, 0])
