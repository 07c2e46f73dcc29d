"""Statements of the paper that disagree with its own data."""

from decimal import Decimal
from typing import NamedTuple

from evade.evidence.paper.recompute import headline_scores, label, recompute
from evade.evidence.published import PrintedValue, game_runs, read_means, read_printed
from evade.evidence.stats import estimate

CLAIMED_SUPERHUMAN = ("Asterix", "Boxing", "CrazyClimber", "Freeway", "Krull")
"""The games in which EVaDE-SimPLe surpasses the human, according to the paper's section Results."""
CLAIMED_ADDED_PARAMETERS = 0.43e6
"""The parameters that all event layers add to the reward model, according to the section Ablation Studies."""


class Disagreement(NamedTuple):
    """One statement of the paper that its own data contradict."""

    where: str
    printed: str
    recomputed: str
    explanation: str


def find_disagreements() -> list[Disagreement]:
    """Find all: three in the text, then every number of a table that does not follow from the printed runs."""
    numbers = [*read_printed(), *(row for row in _mean_values() if row.method in ("simple30", "evade"))]
    wrong = [value for value in numbers if value.metric != "p_value" and not agrees(value.printed, recompute(value))]
    return [_p_value(), _superhuman_games(), _added_parameters(), *map(_number, wrong)]


def agrees(printed: str, value: float) -> bool:
    """Whether a value rounds to the printed number, at its printed digits."""
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int), "printed numbers are finite"
    # The tolerance accepts a value on the rounding border that is not exact in binary.
    return abs(value - float(printed)) <= 0.5 * 10.0 ** min(exponent, 0) + 1e-9


def superhuman_games() -> list[str]:
    """The games in which EVaDE-SimPLe's mean score is above the human's."""
    return [game for game, runs in headline_scores()["evade"].items() if estimate(runs).mean > 1]


def added_parameters(share_last_stage: bool) -> int:
    """Count the parameters that the event layers add to SimPLe's deterministic model.

    Every noisy weight has a mean and a sigma. The maps before the fifth up stage have 256 channels, before the
    sixth 128; the sixth stage is a 4x4 kernel from 128 to 64 channels. A shared last stage adds only its sigmas.
    """
    widths = (256, 128)
    translation = sum(5 * channels for channels in widths)
    weighting = sum(widths)
    interaction = sum(channels**2 for channels in widths)
    last_stage = 4 * 4 * 128 * 64
    return 2 * (translation + weighting + interaction) + last_stage * (1 if share_last_stage else 2)


def _mean_values() -> list[PrintedValue]:
    """The printed mean scores as `PrintedValue`s, with the digits of the CSV file."""
    return [PrintedValue(row.method, row.game, "mean", f"{row.score:.10g}", row.table) for row in read_means()]


def _p_value() -> Disagreement:
    value = next(row for row in read_printed() if row.metric == "p_value")
    one_sided = recompute(value)
    return Disagreement(
        "section Results, paired t-test over 26 games",
        f"single-tailed p = {value.printed}",
        f"one-sided {one_sided:.4f}, two-sided {2 * one_sided:.4f}",
        "The printed value is the two-tailed one.",
    )


def _superhuman_games() -> Disagreement:
    ours = superhuman_games()
    missing = [game for game in ours if game not in CLAIMED_SUPERHUMAN]
    wrong = [game for game in CLAIMED_SUPERHUMAN if game not in ours]
    runs = headline_scores()["evade"]
    hns = ", ".join(f"{game} has HNS {estimate(runs[game]).mean:.2f}" for game in (*wrong, *missing))
    return Disagreement(
        "section Results, games above the human",
        ", ".join(CLAIMED_SUPERHUMAN),
        ", ".join(ours),
        f"{hns}: the fifth game is {missing[0]}, not {wrong[0]}.",
    )


def _added_parameters() -> Disagreement:
    shared, own = added_parameters(share_last_stage=True), added_parameters(share_last_stage=False)
    return Disagreement(
        "section Ablation Studies, parameters added by EVaDE",
        f"{CLAIMED_ADDED_PARAMETERS / 1e6:.2f}M, last stage shared",
        f"{shared / 1e6:.4f}M shared, {own / 1e6:.4f}M unshared",
        "The printed count requires a separate last layer in the reward path; the text says its weights are shared.",
    )


def _number(value: PrintedValue) -> Disagreement:
    runs = ", ".join(f"{score:g}" for score in game_runs(value.method)[value.game]) if value.game else "all runs"
    return Disagreement(
        f"{value.table}, {label(value.method)}{', ' + value.game if value.game else ''}, {value.metric}",
        value.printed,
        f"{recompute(value):.6g}",
        f"The printed value does not follow from the printed runs ({runs}).",
    )
