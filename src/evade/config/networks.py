"""Settings of the world model and the policy."""

from dataclasses import dataclass
from typing import Literal, get_args

from evade.checks import (
    at_least_one,
    finite_not_negative,
    finite_positive,
    require,
    require_choice,
    require_fields,
)

EventLayer = Literal["translation", "weighting", "interaction"]
"""The three noisy event layers of the paper's section 3, by name."""

EVADE: tuple[EventLayer, ...] = ("translation", "weighting", "interaction")
"""All three in the paper's order of insertion: the full EVaDE agent. The empty tuple is SimPLe(30)."""


@dataclass(frozen=True)
class WorldModelConfig:
    """The next-frame and reward network, its losses and its optimiser."""

    num_frames: int = 4
    """Stacked frames the network sees, oldest first. Original: 4."""
    hidden_size: int = 64
    """Channels after the pixel embedding; each doubling multiplies it by 2. Original: 64."""
    depth: int = 6
    """Number of stride-2 down stages, and of up stages. Original: 6 (105x80 becomes 2x2)."""
    num_doublings: int = 2
    """The first so many down stages double the channels. Original: 2 (64, 128, 256, 256, ...)."""
    num_local_layers: int = 0
    """3x3 residual convolutions at full resolution, between the embedding and the first down stage, that see the
    action. Original: none. Ours: with one, MinAtar's one-cell moves are learnt in half the updates
    (docs/decisions/0008-the-minatar-preset.md)."""
    num_middle_layers: int = 2
    """3x3 convolutions at the bottleneck. Original: 2."""
    reward_hidden_size: int = 128
    """Hidden units of the reward head (and of the end head). Original and paper: 128."""
    activation: Literal["relu", "belu"] = "relu"
    """Original: ReLU since 2019-03-26; the release before used belu (paired ELUs). The paper does not say."""
    standardise: bool = True
    """Subtract each frame's mean and divide by its deviation, per channel. Original: yes. Binary grids may go raw."""
    reward_estimate: Literal["likeliest", "expected"] = "likeliest"
    """What a dream pays: the likeliest reward (original), or the mean of the predicted distribution. The mean differs
    between draws of the event layers even where no reward has been seen yet, so that there is something to find out."""
    keeps_objects: bool = False
    """Cells with two values only: where a channel showed something, a dream goes on to show its likeliest cell even
    below one half, down to one fiftieth; and a channel that always showed one object in the game shows one in dreams.
    Original: no, every cell is decided alone. Ours: in MinAtar a player whose next place was uncertain vanished from
    dreams, or became several, and policies learnt to live with that (docs/decisions/0008-the-minatar-preset.md)."""
    predicts_end: bool = False
    """Add a head for the end of an episode. Original: no; MinAtar ends a game at death, so there it is needed."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Number type of convolutions and matrix products. Original: float32. With bfloat16, weights, layer norms' and
    losses' arithmetic and the scores of reward and end stay float32; see docs/decisions/0006-precision.md."""

    event_layers: tuple[EventLayer, ...] = ()
    """Event layers of the reward path in order of insertion: `()` is SimPLe(30), `EVADE` the paper's agent."""
    share_last_stage: bool = True
    """The reward path's last up stage borrows the transition path's kernel (paper, text). False gives it a kernel
    of its own, which the paper's "0.43M" added parameters need; see docs/deviations.md."""
    sigma_init: float = 0.1
    """Initial relative noise of every event weight. Ours: the paper gives none; 0.1 moves a weight by 10 %,
    enough to tell draws apart and small enough that the reward loss falls as it does without noise."""
    event_init: Literal["identity", "random"] = "identity"
    """Initial event weights. Ours: the paper gives none; identity (its Theorem 1) leaves the network's function
    as it was before the layers were inserted."""
    kl_weight: float = 0.0
    """Weight of the event layers' summed KL term in the loss; 1 / (number of transitions) makes the loss an
    evidence bound. Paper: no such term in its loss, so 0."""

    dropout: float = 0.1
    """Dropout at the entrance of every down and up stage while fitting. Original: 0.1."""
    middle_dropout: float = 0.5
    """Dropout before each middle layer while fitting. Original: 0.5 (`residual_dropout`)."""
    pixel_noise: float = 0.05
    """Share of cells replaced by the batch's median colour while fitting. Original: 0.05."""
    loss_cutoff: float = 0.01
    """Subtracted from every cross-entropy before a ReLU, in nats. Original: 0.01 (deterministic model)."""

    frame_loss_weight: float = 1.0
    """Weight of the frame's mean cross-entropy beside those of reward and end. Original: 1, where 25,200 numbers of a
    frame count as much as one reward; the joint likelihood's own weight is that number. Ours on MinAtar: between the
    two, so that oversampled events (`eventful_share`) do not drown the frames."""

    batch_size: int = 4
    """Transitions per update. Original: 4."""
    eventful_share: float = 0.0
    """Share of each update's transitions that are drawn from those with a reward or an end, as soon as there are any.
    Original: 0, all are drawn alike; but one in a hundred of Asterix's transitions has a reward, and a model fitted
    by uniform draws never predicts one."""
    learning_rate: float = 1.5
    """Constant of the warm-up / inverse square root schedule; relative, because updates are scaled by each
    variable's own size. Original: 1.5."""
    warmup_updates: int = 8000
    """Updates of linear warm-up. Original: 8000."""
    max_gradient_norm: float = 1.0
    """Gradients are scaled down to this global norm. Original: 1.0."""

    def __post_init__(self) -> None:
        sizes = "num_frames hidden_size depth num_middle_layers reward_hidden_size batch_size warmup_updates"
        require_fields(self, "world_model", sizes, at_least_one, "it must be at least 1")
        require(
            0 <= self.num_doublings <= self.depth,
            "world_model.num_doublings",
            self.num_doublings,
            f"it must lie between 0 and world_model.depth = {self.depth}",
        )
        require(
            self.activation != "belu" or self.hidden_size % 2 == 0,
            "world_model.hidden_size",
            self.hidden_size,
            "belu pairs up channels, so it must be even",
        )
        require(
            self.num_local_layers >= 0, "world_model.num_local_layers", self.num_local_layers, "it must not be negative"
        )
        probabilities = "dropout middle_dropout pixel_noise eventful_share"
        require_fields(self, "world_model", probabilities, lambda p: 0 <= p < 1, "it is a probability below 1")
        weights = "sigma_init kl_weight loss_cutoff"
        require_fields(self, "world_model", weights, finite_not_negative, "it must be finite and not negative")
        rates = "learning_rate max_gradient_norm frame_loss_weight"
        require_fields(self, "world_model", rates, finite_positive, "it must be finite and positive")
        require_choice("world_model.activation", self.activation, ("relu", "belu"))
        require_choice("world_model.reward_estimate", self.reward_estimate, ("likeliest", "expected"))
        require_choice("world_model.precision", self.precision, ("float32", "bfloat16"))
        require_choice("world_model.event_init", self.event_init, ("identity", "random"))
        for name in self.event_layers:
            require_choice("world_model.event_layers", name, get_args(EventLayer))
        require(
            len(set(self.event_layers)) == len(self.event_layers),
            "world_model.event_layers",
            self.event_layers,
            "each event layer may be named once",
        )


@dataclass(frozen=True)
class PolicyConfig:
    """The actor-critic network and how PPO improves it."""

    filters: tuple[int, ...] = (32, 32)
    """Output channels of each convolution. Original: two of 32."""
    num_frames: int | None = None
    """The policy looks at so many of an observation's last frames; None for all of them (original). Few make PPO cheap
    where one frame tells nearly all, though the world model may need many to foresee what the game's clocks will do."""
    kernel_size: int = 5
    """Rows and columns of each convolution's kernel. Original: 5."""
    stride: int = 2
    """Stride of each convolution. Original: 2."""
    hidden_size: int = 128
    """Units of the dense layer under both heads. Original: 128."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Number type of the convolutions and the dense layer. Original: float32. With bfloat16, weights, both heads and
    all of PPO's arithmetic stay float32."""
    num_iteration_embeddings: int = 0
    """Rows of a table that tells the dense layer the iteration (row 0: unknown); 0 for none. The last release of
    the original has 32 such rows, the release of its paper has none, so none is the default."""

    discount: float = 0.99
    """The return's gamma. Original: 0.99."""
    gae_lambda: float = 0.95
    """Generalised advantage estimation's lambda. Original: 0.95."""
    clip: float = 0.1
    """PPO's clip range of the probability ratio. Original: 0.1."""
    value_coefficient: float = 1.0
    """Weight of the value's mean squared error. Original: 1 (no half, no clipping)."""
    entropy_coefficient: float = 0.01
    """Weight of the entropy bonus. Original: 0.01."""
    epochs: int = 3
    """Passes over one rollout. Original: 3."""
    minibatch_times: int = 20
    """Time indices per minibatch, each with all environments of the rollout. Original: 20."""
    learning_rate: float = 1e-4
    """Adam's step size, in dreams and in the game. Original: 1e-4, constant."""
    max_gradient_norm: float = 0.5
    """Gradients are scaled down to this global norm. Original: 0.5."""

    def __post_init__(self) -> None:
        require(
            bool(self.filters) and all(count >= 1 for count in self.filters),
            "policy.filters",
            self.filters,
            "name at least one convolution, each with at least 1 filter",
        )
        require_choice("policy.precision", self.precision, ("float32", "bfloat16"))
        frames = self.num_frames
        require(frames is None or frames >= 1, "policy.num_frames", frames, "it must be at least 1")
        sizes = "kernel_size stride hidden_size epochs minibatch_times"
        require_fields(self, "policy", sizes, at_least_one, "it must be at least 1")
        require_fields(self, "policy", "discount gae_lambda", lambda x: 0 <= x <= 1, "it must lie between 0 and 1")
        require(0 < self.clip < 1, "policy.clip", self.clip, "it must lie between 0 and 1")
        weights = "num_iteration_embeddings value_coefficient entropy_coefficient"
        require_fields(self, "policy", weights, finite_not_negative, "it must be finite and not negative")
        rates = "learning_rate max_gradient_norm"
        require_fields(self, "policy", rates, finite_positive, "it must be finite and positive")
