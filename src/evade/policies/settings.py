"""Settings of policies and of the learners that improve them, one class for each kind. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from evade.checks import at_least_one, finite_not_negative, finite_positive, require, require_choice, require_fields
from evade.kinds import ADDED_LATER, KindSettings


class PolicyConfig(KindSettings, family="policy"):
    """Base of the settings of all policies; `evade.policies.build` builds each kind."""

    def check_frames(self, num_frames: int) -> None:
        """Raise a `ConfigError` if this policy cannot use observations of `num_frames` frames."""


class LearnerConfig(KindSettings, family="learner"):
    """Base of the settings of all learners (of a policy, on rollouts); `evade.policies.build` builds each kind."""

    def check_rollout(self, field: str, num_steps: int) -> None:
        """Raise a `ConfigError` if this learner cannot use rollouts of `num_steps` steps.

        Args:
            field: the setting that `num_steps` comes from, for the message.
            num_steps: length of a rollout.
        """

    def num_updates(self, num_steps: int) -> int:
        """Number of updates on a rollout of `num_steps`; the learner's cost is proportional to it."""
        return 1


@dataclass(frozen=True)
class ActorCriticConfig(PolicyConfig, kind="actor-critic"):
    """The actor-critic network: convolutions, one dense layer, an action head and a value head."""

    filters: tuple[int, ...] = (32, 32)
    """Output channels of each convolution. T2T SimPLe: two of 32."""
    num_frames: int | None = None
    """The policy uses the last N frames of an observation; None for all of them (T2T SimPLe). Fewer frames make PPO
    cheaper where one frame shows nearly the whole state, even if the world model needs more to predict timers."""
    kernel_size: int = 5
    """Rows and columns of each convolution's kernel. T2T SimPLe: 5."""
    stride: int = 2
    """Stride of each convolution. T2T SimPLe: 2."""
    hidden_size: int = 128
    """Units of the dense layer that both heads share. T2T SimPLe: 128."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Dtype of the convolutions and the dense layer. T2T SimPLe: float32. With bfloat16, weights, both heads and the
    learner stay float32."""
    num_iteration_embeddings: int = 0
    """Rows of an embedding of the iteration (row 0: unknown), an input of the dense layer; 0 for no embedding. The last
    release of T2T SimPLe has 32 rows; the release used for its paper has none, so 0 is the default."""

    def __post_init__(self) -> None:
        require(
            bool(self.filters) and all(count >= 1 for count in self.filters),
            "policy.filters",
            self.filters,
            "must have at least one convolution, each with at least 1 filter",
        )
        require_choice("policy.precision", self.precision, ("float32", "bfloat16"))
        frames = self.num_frames
        require(frames is None or frames >= 1, "policy.num_frames", frames, "must be at least 1")
        require_fields(self, "policy", "kernel_size stride hidden_size", at_least_one, "must be at least 1")
        require_fields(self, "policy", "num_iteration_embeddings", finite_not_negative, "must not be negative")

    def check_frames(self, num_frames: int) -> None:
        """Raise a `ConfigError` if the policy needs more frames than an observation has."""
        rule = f"must not exceed env.num_frames = {num_frames}"
        require(self.num_frames is None or self.num_frames <= num_frames, "policy.num_frames", self.num_frames, rule)


@dataclass(frozen=True)
class PPOConfig(LearnerConfig, kind="ppo"):
    """Proximal policy optimisation."""

    discount: float = 0.99
    """The return's gamma. T2T SimPLe: 0.99."""
    gae_lambda: float = 0.95
    """Generalised advantage estimation's lambda. T2T SimPLe: 0.95."""
    clip: float = 0.1
    """Clip range of the probability ratio. T2T SimPLe: 0.1."""
    value_coefficient: float = 1.0
    """Weight of the value's mean squared error. T2T SimPLe: 1 (no half, no clipping)."""
    entropy_coefficient: float = 0.01
    """Weight of the entropy bonus. T2T SimPLe: 0.01."""
    epochs: int = 3
    """Passes over one rollout. T2T SimPLe: 3."""
    minibatch_times: int = 20
    """Time indices per minibatch, each with all environments of the rollout. T2T SimPLe: 20."""
    learning_rate: float = 1e-4
    """Adam's learning rate, in dreams and in the game. T2T SimPLe: 1e-4, constant."""
    max_gradient_norm: float = 0.5
    """Gradients are scaled down to this global norm. T2T SimPLe: 0.5."""
    advantage_floor: float = field(default=0.0, metadata=ADDED_LATER)
    """Advantages are divided by their standard deviation over the rollout, or by this if it is larger, in points. T2T
    SimPLe: 0. Ours on grids: where hardly anything pays, dividing by the deviation alone turns noise into certainty
    (docs/decisions/0013-local-heads.md); DreamerV3 has such a floor for its returns."""

    def __post_init__(self) -> None:
        require_fields(self, "learner", "epochs minibatch_times", at_least_one, "must be at least 1")
        require_fields(self, "learner", "discount gae_lambda", lambda x: 0 <= x <= 1, "must lie between 0 and 1")
        require(0 < self.clip < 1, "learner.clip", self.clip, "must lie between 0 and 1")
        weights = "value_coefficient entropy_coefficient advantage_floor"
        require_fields(self, "learner", weights, finite_not_negative, "must be finite and not negative")
        rates = "learning_rate max_gradient_norm"
        require_fields(self, "learner", rates, finite_positive, "must be finite and positive")

    def check_rollout(self, field: str, num_steps: int) -> None:
        """Raise a `ConfigError` if the epochs over a rollout do not fill one minibatch."""
        rule = f"{self.epochs} epochs over {num_steps} steps ({field}) must fill at least one minibatch"
        require(self.num_updates(num_steps) >= 1, "learner.minibatch_times", self.minibatch_times, rule)

    def num_updates(self, num_steps: int) -> int:
        """Full minibatches in all epochs over a rollout."""
        return num_steps * self.epochs // self.minibatch_times
