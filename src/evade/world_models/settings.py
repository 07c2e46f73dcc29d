"""Settings of the world models, one class for each kind. No torch here."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self, get_args

from evade.checks import (
    at_least_one,
    finite_not_negative,
    finite_positive,
    is_probability_below_one,
    is_share,
    require,
    require_choice,
    require_fields,
)
from evade.kinds import ADDED_LATER, KindSettings
from evade.vocabulary.variants import EventLayer
from evade.world_models.bits_settings import BitsConfig


class WorldModelConfig(KindSettings, family="world_model"):
    """Base of the settings of all world models; `evade.world_models.build` builds each kind."""

    def with_event_layers(self, layers: tuple[EventLayer, ...]) -> Self:
        """These settings with the given event layers in the reward path; unchanged for a kind without event layers."""
        return self

    def with_prior_scale(self, scale: float) -> Self:
        """A copy with another scale of the event prior; unchanged for a kind that has none."""
        return self

    @classmethod
    def paper_method(cls, variant_method: str | None, has_event_layers: bool) -> str | None:
        """The method of the paper that an agent with this kind of model is, given that of its variant; None if none."""
        return variant_method


@dataclass(frozen=True)
class RewardPathConfig:
    """The reward path: its event layers, their noise, and how a dream's reward is decided."""

    event_layers: tuple[EventLayer, ...] = ()
    """Event layers of the reward path in order of insertion: `()` is SimPLe(30), `EVADE` the paper's agent."""
    share_last_stage: bool = True
    """The reward path's last up stage borrows the transition path's kernel (paper, text). False gives it a kernel
    of its own, which the paper's "0.43M" added parameters need; see docs/deviations.md."""
    sigma_init: float = 0.1
    """Initial relative noise of every event weight. Ours: the paper does not give a value; 0.1 moves a weight by 10 %,
    small enough that the reward loss falls as fast as without noise. Draws then hardly differ (docs/results)."""
    event_init: Literal["identity", "random"] = "identity"
    """Initial event weights. Ours: the paper does not say; with identity (its Theorem 1) inserting the layers does not
    change the network's function."""
    kl_weight: float = 0.0
    """Weight of the event layers' summed KL divergence in the loss; 1 / (number of transitions) makes the loss a
    variational bound. Paper: no such term in its loss, so 0."""
    prior_scale: float = 0.0
    """Largest reward that a draw adds or takes away for events that have hardly been seen; 0 for no such prior. Ours:
    without it draws agree about events never seen (docs/decisions/0010-the-event-prior.md). Needs event layers and
    cells that are on or off. Paper: none."""
    prior_patience: float = 0.1
    """Sightings of an event after which the prior's sigma for it is one half. Ours: one sighting leaves 0.09, thirty
    leave 0.003, so that a handful overrules the prior."""
    prior_optimism: float = field(default=0.0, metadata=ADDED_LATER)
    """Mean of the prior, in units of its standard deviation. Ours: above 0, many unknown steps promise more than one,
    and an agent that has to pass through all of them goes there (docs/decisions/0011-exploration-in-the-loop.md)."""
    prior_budget: float = field(default=0.0, metadata=ADDED_LATER)
    """The most that the prior adds and takes away in one dream, in points; 0 for no limit. What a step is paid is
    multiplied by what is left of the budget, over `prior_scale`. Ours: in the game an unknown event is unknown only
    once, and a draw that pays for it at every step makes any loop worth more than a reward
    (docs/decisions/0015-what-a-dream-may-promise.md)."""
    estimate: Literal["argmax", "expected"] = "argmax"
    """Reward of a dream's step: the most likely one (T2T SimPLe), or the mean of the predicted distribution. The mean
    differs between draws even where no reward has been seen yet, which gives the policy something to explore."""

    def __post_init__(self) -> None:
        section = "world_model.reward"
        weights = "sigma_init kl_weight prior_scale prior_optimism prior_budget"
        require_fields(self, section, weights, finite_not_negative, "must be finite and not negative")
        require_fields(self, section, "prior_patience", finite_positive, "must be finite and positive")
        require_choice(f"{section}.event_init", self.event_init, ("identity", "random"))
        require_choice(f"{section}.estimate", self.estimate, ("argmax", "expected"))
        for name in self.event_layers:
            require_choice(f"{section}.event_layers", name, get_args(EventLayer))
        require(
            len(set(self.event_layers)) == len(self.event_layers),
            f"{section}.event_layers",
            self.event_layers,
            "must name each event layer at most once",
        )


@dataclass(frozen=True)
class FitConfig:
    """How a network is fitted: regularisation, losses and optimiser."""

    dropout: float = 0.1
    """Dropout at the input of every down and up stage while fitting. T2T SimPLe: 0.1."""
    middle_dropout: float = 0.5
    """Dropout before each middle layer while fitting. T2T SimPLe: 0.5 (`residual_dropout`)."""
    pixel_noise: float = 0.05
    """Share of cells replaced by the batch's median colour while fitting. T2T SimPLe: 0.05."""
    loss_cutoff: float = 0.01
    """Subtracted from every cross-entropy before a ReLU, in nats. T2T SimPLe: 0.01 (deterministic model)."""
    frame_loss_weight: float = 1.0
    """Weight of the frame's mean cross-entropy; reward and end have weight 1. T2T SimPLe: 1, so that all 25,200 values
    of a frame together weigh as much as one reward; in the joint likelihood each of them does. Ours on MinAtar: between
    the two, so that oversampled events (`replay.eventful_share`) do not outweigh the frames."""
    optimiser: Literal["adafactor", "adam"] = field(default="adafactor", metadata=ADDED_LATER)
    """T2T SimPLe: Adafactor. Ours on grids: fused Adam, whose update takes a thirtieth of the time for networks of many
    small tensors."""
    schedule: Literal["rsqrt", "constant"] = "rsqrt"
    """The learning rate after its warm-up: falls with the inverse square root of the number of updates, or stays. T2T
    SimPLe: rsqrt for the deterministic model, constant for the stochastic discrete one."""
    learning_rate: float = 1.5
    """Constant of that schedule; relative, because Adafactor scales updates by each variable's RMS. T2T SimPLe: 1.5
    with rsqrt, 0.002 with constant."""
    warmup_updates: int = 8000
    """Updates of linear warm-up. T2T SimPLe: 8000."""
    max_gradient_norm: float = 1.0
    """Gradients are scaled down to this global norm. T2T SimPLe: 1.0."""
    head_decay: float = field(default=0.0, metadata=ADDED_LATER)
    """Decoupled weight decay of the kernels of `local_heads`, only with Adam: each update takes this multiple of the
    learning rate, divided by the number of transitions fitted to. T2T SimPLe: 0. Ours on grids: 640, with which a
    rare reward is recognised after fewer sightings (docs/decisions/0013-local-heads.md)."""

    def __post_init__(self) -> None:
        section = "world_model.fit"
        require_fields(self, section, "warmup_updates", at_least_one, "must be at least 1")
        probabilities = "dropout middle_dropout pixel_noise"
        require_fields(self, section, probabilities, is_probability_below_one, "must be a probability below 1")
        require_fields(self, section, "loss_cutoff head_decay", finite_not_negative, "must be finite and not negative")
        rates = "learning_rate max_gradient_norm frame_loss_weight"
        require_fields(self, section, rates, finite_positive, "must be finite and positive")
        require_choice(f"{section}.schedule", self.schedule, ("rsqrt", "constant"))
        require_choice(f"{section}.optimiser", self.optimiser, ("adafactor", "adam"))
        rule = "must be 0 unless world_model.fit.optimiser is adam"
        require(self.head_decay == 0 or self.optimiser == "adam", f"{section}.head_decay", self.head_decay, rule)


@dataclass(frozen=True)
class FrameNetworkConfig(WorldModelConfig):
    """What SimPLe's deterministic and stochastic networks have in common; the defaults are the deterministic one's."""

    hidden_size: int = 64
    """Channels after the pixel embedding; each doubling multiplies it by 2. T2T SimPLe: 64."""
    depth: int = 6
    """Number of stride-2 down stages, and of up stages. T2T SimPLe: 6 (105x80 becomes 2x2)."""
    num_doublings: int = 2
    """The first N down stages double the channels. T2T SimPLe: 2 (64, 128, 256, 256, ...)."""
    num_local_layers: int = 0
    """3x3 residual convolutions at full resolution, between the embedding and the first down stage, that see the
    action. T2T SimPLe: none. Ours: with one, MinAtar's one-cell moves are learned in half the updates
    (docs/decisions/0008-the-minatar-preset.md)."""
    num_middle_layers: int = 2
    """3x3 convolutions at the bottleneck. T2T SimPLe: 2."""
    reward_hidden_size: int = 128
    """Hidden units of the reward head (and of the end head). T2T SimPLe and paper: 128."""
    corrects_rates: bool = field(default=False, metadata=ADDED_LATER)
    """Predicted probabilities of rewards and ends are corrected for their oversampling in batches
    (`replay.eventful_share`). T2T SimPLe: samples uniformly, so no. Ours on grids: otherwise dreams pay several times
    what the game pays where the model is unsure (docs/decisions/0012-chance-and-timers.md). An end that is as certain
    as `fit.loss_cutoff` lets it be is not corrected (docs/decisions/0017-certain-ends.md), and what never happened in
    the game does not happen in dreams (docs/decisions/0019-what-never-happened.md)."""
    pools_max: bool = field(default=False, metadata=ADDED_LATER)
    """The heads of reward and end pool their maps by the maximum too, beside the mean. T2T SimPLe: the mean only. Ours
    on grids: an event happens in one cell of a hundred, which a mean hides
    (docs/decisions/0012-chance-and-timers.md)."""
    activation: Literal["relu", "belu"] = "relu"
    """T2T SimPLe: ReLU since 2019-03-26; the release before used belu (paired ELUs). The paper does not say."""
    standardise: bool = True
    """Subtract each frame's mean and divide by its standard deviation, per channel. T2T SimPLe: yes. Not needed for
    binary grids."""
    keeps_objects: bool = False
    """Only for binary cells: in a channel that was not empty, a dream keeps the most likely cell on if its probability
    is above 1/50, even if below one half; and channels that together showed exactly one object in every collected
    frame show exactly one in dreams. T2T SimPLe: no, every cell is decided independently. Ours: in MinAtar a player
    whose next position was uncertain vanished from dreams, or doubled, and policies learned to exploit that
    (docs/decisions/0008-the-minatar-preset.md); in MiniGrid it faced two directions at once
    (docs/decisions/0016-one-object-in-several-channels.md)."""
    predicts_end: bool = False
    """Add a head that predicts the end of a game. T2T SimPLe: no; needed for MinAtar, where death ends the game."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Dtype of convolutions and matrix products. T2T SimPLe: float32. With bfloat16, weights, layer norms, losses and
    the logits of reward and end stay float32; see docs/decisions/0006-precision.md."""
    reward: RewardPathConfig = field(default_factory=RewardPathConfig)
    """The reward path and its noise."""
    fit: FitConfig = field(default_factory=FitConfig)
    """Regularisation, losses and optimiser."""

    def __post_init__(self) -> None:
        sizes = "hidden_size depth num_middle_layers reward_hidden_size"
        require_fields(self, "world_model", sizes, at_least_one, "must be at least 1")
        require(
            0 <= self.num_doublings <= self.depth,
            "world_model.num_doublings",
            self.num_doublings,
            f"must lie between 0 and world_model.depth = {self.depth}",
        )
        require(
            self.activation != "belu" or self.hidden_size % 2 == 0,
            "world_model.hidden_size",
            self.hidden_size,
            "must be even, because belu pairs up channels",
        )
        require_fields(self, "world_model", "num_local_layers", finite_not_negative, "must not be negative")
        require_choice("world_model.activation", self.activation, ("relu", "belu"))
        require_choice("world_model.precision", self.precision, ("float32", "bfloat16"))

    def with_event_layers(self, layers: tuple[EventLayer, ...]) -> Self:
        """These settings with the given event layers in the reward path."""
        return replace(self, reward=replace(self.reward, event_layers=layers))

    def with_prior_scale(self, scale: float) -> Self:
        """The same settings with another scale of the event prior."""
        return replace(self, reward=replace(self.reward, prior_scale=scale))


@dataclass(frozen=True)
class GridNetworkConfig(FrameNetworkConfig):
    """What both networks can have on grids of objects, where every cell of a channel is on or off."""

    seen_frames: int = field(default=0, metadata=ADDED_LATER)
    """The network sees the last N frames of an observation; 0 for all of them (T2T SimPLe). For use with `clocks`."""
    clocks: bool = field(default=False, metadata=ADDED_LATER)
    """Only for binary cells: the network also sees how many steps ago an object last appeared and vanished in each
    channel, counted over all frames of the observation. T2T SimPLe: no. Ours on grids: games have timers of up to
    twelve steps that no frame shows (docs/decisions/0012-chance-and-timers.md)."""
    counts: bool = field(default=False, metadata=ADDED_LATER)
    """Only with `clocks` and `keeps_objects`: the network also sees how many objects each channel shows, and how many
    steps ago one last came or went with no other of its channel within one cell. T2T SimPLe: no. Ours on grids:
    invaders step the sooner the fewer they are, and shots that fly hide from the clocks when the last one was fired
    (docs/decisions/0021-counts-and-lines.md)."""
    lines: bool = field(default=False, metadata=ADDED_LATER)
    """Only for binary cells: each cell also sees which channels have an object in its row, and in its column. T2T
    SimPLe: no. Ours on grids: what decides where a shot comes from may be far away
    (docs/decisions/0021-counts-and-lines.md)."""
    flips: bool = field(default=False, metadata=ADDED_LATER)
    """Only with `keeps_objects`: in dreams, cells take the less likely of their two values with its probability, all
    cells of a frame by the same random number. T2T SimPLe: no. Ours on grids: what moves by a timer that cannot be read
    otherwise never moves in dreams (docs/decisions/0012-chance-and-timers.md)."""
    one_place: bool = field(default=False, metadata=ADDED_LATER)
    """Only with `flips`: in dreams, an object that may go to several cells around it goes to one of them, or ends. T2T
    SimPLe: no. Ours on grids: flipped one by one, it showed up in several cells at once, and an object that had all but
    certainly been hit stayed (docs/decisions/0024-one-place-for-each-object.md)."""
    local_heads: bool = field(default=False, metadata=ADDED_LATER)
    """Only for binary cells: the log-odds of rewards and ends are sums over neighbourhoods of 3 x 3 cells of the last
    two frames and the predicted one, instead of a head on pooled maps. T2T SimPLe: pooled. Ours on grids: a pooled head
    learns rewards that came by chance by heart, and policies exploit it (docs/decisions/0013-local-heads.md)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fields(self, "world_model", "seen_frames", finite_not_negative, "must not be negative")
        rule = "must be False without world_model.keeps_objects"
        require(self.keeps_objects or not self.flips, "world_model.flips", self.flips, rule)
        rule = "must be False without world_model.flips"
        require(self.flips or not self.one_place, "world_model.one_place", self.one_place, rule)
        rule = "must be False without world_model.clocks and world_model.keeps_objects"
        require((self.clocks and self.keeps_objects) or not self.counts, "world_model.counts", self.counts, rule)
        rule = "must be 0 without world_model.local_heads"
        require(self.local_heads or self.fit.head_decay == 0, "world_model.fit.head_decay", self.fit.head_decay, rule)


@dataclass(frozen=True)
class DeterministicConfig(GridNetworkConfig, kind="deterministic"):
    """SimPLe's deterministic next-frame and reward network, with EVaDE's reward path."""

    surprises: bool = field(default=False, metadata=ADDED_LATER)
    """Only for binary cells: at each step a dream shows what had appeared unpredicted in one of the last 4096 real
    transitions, picked at random. T2T SimPLe: no (its stochastic model samples bits instead). Ours on grids: otherwise
    nothing new ever appears in dreams (docs/decisions/0012-chance-and-timers.md)."""


@dataclass(frozen=True)
class StochasticDiscreteConfig(GridNetworkConfig, kind="stochastic-discrete"):
    """SimPLe's stochastic discrete network (`next_frame_basic_stochastic_discrete`), with EVaDE's reward path."""

    hidden_size: int = 96
    """Channels after the pixel embedding; each doubling multiplies it by 2. T2T SimPLe: 96."""
    num_doublings: int = 3
    """The first N down stages double the channels. T2T SimPLe: 3 (96, 192, 384, 768, 768, ...)."""
    fit: FitConfig = field(
        default_factory=lambda: FitConfig(
            dropout=0.15,
            pixel_noise=0.0,
            loss_cutoff=0.03,
            schedule="constant",
            learning_rate=0.002,
            warmup_updates=2000,
        )
    )
    """Regularisation, losses and optimiser. T2T SimPLe: dropout 0.15, no pixel noise, cutoff 0.03, learning rate
    0.002 after 2,000 updates of warm-up."""
    memory_channels: int = 64
    """Channels of the recurrent state, which replaces the stack of frames; 0 for a network without memory that sees
    the stack. T2T SimPLe: 64 (`recurrent_state_size`)."""
    own_frames: float = 1.0
    """Probability that a later step of a fitted sequence (`replay.target_frames`) sees the frame that the network
    predicted instead of the game's, after the warm-up. T2T SimPLe: 1 (scheduled sampling)."""
    own_frames_warmup: int = 40_000
    """Updates of that warm-up: linear from one hundredth, times an exponential over its first quarter. T2T SimPLe:
    40,000, the exponential over 10,000."""
    bits: BitsConfig = field(default_factory=BitsConfig)
    """The bits and their predictor."""

    @classmethod
    def paper_method(cls, variant_method: str | None, has_event_layers: bool) -> str | None:
        """SimPLe as published; the paper has no event layers on this model."""
        return None if has_event_layers else "simple15"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fields(self, "world_model", "memory_channels", finite_not_negative, "must not be negative")
        require_fields(self, "world_model", "own_frames", is_share, "must lie between 0 and 1")
        require_fields(self, "world_model", "own_frames_warmup", at_least_one, "must be at least 1")
        for name in ("seen_frames", "clocks", "lines"):
            rule = "must not be set with world_model.memory_channels, which replaces the stack of frames"
            value = getattr(self, name)
            require(not value or self.memory_channels == 0, f"world_model.{name}", value, rule)
