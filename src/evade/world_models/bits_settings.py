"""Settings of the stochastic discrete model's bits. No torch here."""

from dataclasses import dataclass, field

from evade.checks import (
    at_least_one,
    finite_not_negative,
    is_probability_below_one,
    is_share,
    require,
    require_fields,
)
from evade.kinds import ADDED_LATER


@dataclass(frozen=True)
class BitsConfig:
    """The bits that decide what chance decides: how they are inferred, predicted and used.

    While fitting, a posterior infers them from the frame and the frame that followed; a small LSTM learns to predict
    them without the latter, and dreams sample from it. All defaults are T2T SimPLe's.
    """

    count: int = 128
    """Number of bits. T2T SimPLe: 128 (`bottleneck_bits`)."""
    per_symbol: int = 8
    """Bits that the LSTM predicts at once, as one symbol. T2T SimPLe: 8, so 256 symbols."""
    predictor_size: int = 128
    """Units of the LSTM. T2T SimPLe: 128 (`latent_predictor_state_size`)."""
    posterior_filters: tuple[int, int] = (128, 512)
    """Filters of the posterior's two convolutions. T2T SimPLe: 128 and 512, both 8x8 of stride 4."""
    posterior_heads: int = 4
    """Attention heads that pool each of the two maps. T2T SimPLe: 4."""
    centred: bool = False
    """While fitting, subtract the batch's mean from the posterior's logits and divide by their standard deviation, so
    that each bit is 1 in about half of the examples. T2T SimPLe: no. Ours on grids: without it all bits became constant
    within 300 updates, because an object is one cell of a hundred and hardly moves the pooled maps."""
    sees_changes: bool = field(default=False, metadata=ADDED_LATER)
    """The posterior sees what appears and what vanishes, cell by cell, and pools by the maximum: 3x3 and 1x1
    convolutions at full resolution, of `posterior_filters` channels. T2T SimPLe: no. Ours on grids: its convolutions of
    stride 4 and its means hardly saw an object (docs/decisions/0025-bits-on-grids.md)."""
    temperature: float = 1.0
    """Of the symbols that dreams sample; 0 takes the most likely one. T2T SimPLe: 1
    (`latent_predictor_temperature`)."""
    noise: float = 0.2
    """Standard deviation of the noise added to the posterior's logits while fitting. T2T SimPLe: 0.2."""
    flipped_share: float = 0.1
    """Share of the posterior's bits that are flipped while fitting. T2T SimPLe: 0.1 (`bottleneck_noise`)."""
    predicted_share: float = 0.5
    """Share of the posterior's bits that are replaced by the LSTM's while fitting, after the warm-up. T2T SimPLe: 0.5
    (`latent_rnn_max_sampling`)."""
    used_share: float = 0.8
    """Share of the examples whose bits are used while fitting, after their warm-up; the network does without them in
    the others. T2T SimPLe: 0.8 (`latent_use_max_probability`)."""
    predictor_dropout: float = 0.1
    """Dropout of the LSTM's inputs and outputs while fitting. T2T SimPLe: 0.1."""
    warmup_updates: int = 40_000
    """Updates over which the share of discrete instead of tanh bits, and of predicted bits, grows from one hundredth to
    its whole. T2T SimPLe: 40,000."""
    use_warmup_updates: int = 20_000
    """Updates over which the used share grows likewise. T2T SimPLe: 20,000."""

    def __post_init__(self) -> None:
        section = "world_model.bits"
        sizes = "count per_symbol predictor_size posterior_heads warmup_updates use_warmup_updates"
        require_fields(self, section, sizes, at_least_one, "must be at least 1")
        rule = f"must be a multiple of {section}.per_symbol = {self.per_symbol}"
        require(self.count % self.per_symbol == 0, f"{section}.count", self.count, rule)
        require(self.per_symbol <= 16, f"{section}.per_symbol", self.per_symbol, "must be at most 16")
        rule = "must be two numbers of at least 1"
        is_valid = len(self.posterior_filters) == 2 and all(map(at_least_one, self.posterior_filters))
        require(is_valid, f"{section}.posterior_filters", self.posterior_filters, rule)
        require_fields(self, section, "noise temperature", finite_not_negative, "must be finite and not negative")
        probabilities = "flipped_share predictor_dropout"
        require_fields(self, section, probabilities, is_probability_below_one, "must be a probability below 1")
        require_fields(self, section, "predicted_share used_share", is_share, "must lie between 0 and 1")
